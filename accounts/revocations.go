package accounts

import (
	"context"
	"time"

	"ovation/storage"
)

const (
	pollTimeout   = 5 * time.Second
	pollPage      = 1000 // revocations read at once
	pruneInterval = time.Minute
	// margin is how much longer than its tokens last a revocation is remembered:
	// clocks may differ.
	margin = time.Hour
)

// pruneBefore is the time before which revocations are of expired tokens, in
// microseconds since 1970.
func (s *Service) pruneBefore() int64 { return storage.Micros(s.Now().Add(-s.Signer.TTL - margin)) }

// poll follows revocations until ctx ends. While the store is unavailable, those
// known stay in effect and later ones do not reach this node.
func (s *Service) poll(ctx context.Context) {
	ticker := time.NewTicker(s.PollEvery)
	defer ticker.Stop()
	forget := time.NewTicker(pruneInterval)
	defer forget.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-forget.C:
			s.Sessions.Prune(s.pruneBefore())
		case <-ticker.C:
			err := s.follow(ctx)
			switch {
			case err == nil:
				s.away.Worked()
			case ctx.Err() == nil:
				s.away.Failed("error", err)
			}
		}
	}
}

// follow reads the revocations since the latest one known, and the overlap before
// it, in which others may have become visible since.
func (s *Service) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	after := storage.Revocation{At: s.seen - storage.RevocationOverlap}
	for {
		page, err := s.Store.Revocations(ctx, after, pollPage)
		if err != nil {
			return err
		}
		for _, r := range page {
			s.Sessions.Revoke(r)
			s.seen = max(s.seen, r.At)
		}
		if len(page) < pollPage {
			return nil
		}
		after = page[len(page)-1]
	}
}
