package accounts

import (
	"context"
	"time"

	"ovation/storage"
)

const (
	pollTimeout   = 5 * time.Second
	pollPage      = 1000 // revocations in one read
	pruneInterval = time.Minute
	// margin is the time for which a revocation is kept after the revoked tokens have
	// expired, because the clocks of nodes and of the database may differ.
	margin = 24 * time.Hour
)

// pruneBefore returns a time, in microseconds since 1970. All tokens that were revoked
// before it have expired, even if they were issued under another Signer.TTL.
func (s *Service) pruneBefore() int64 { return storage.Micros(s.Now().Add(-MaxTokenTTL - margin)) }

// poll reads new revocations periodically until ctx ends. While the store is unavailable,
// known revocations stay in effect and new revocations do not reach this node.
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
				s.outage.Worked()
			case ctx.Err() == nil:
				s.outage.Failed("error", err)
			}
		}
	}
}

// follow reads the revocations since the latest known revocation. It also re-reads a
// period of storage.RevocationOverlap before that revocation, because further revocations
// from that period may have become visible in the meantime.
func (s *Service) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	after := storage.Revocation{At: s.lastRevocation - storage.RevocationOverlap}
	for {
		page, err := s.Store.Revocations(ctx, after, pollPage)
		if err != nil {
			return err
		}
		for _, r := range page {
			s.Sessions.Revoke(r)
			s.lastRevocation = max(s.lastRevocation, r.At)
		}
		if len(page) < pollPage {
			return nil
		}
		after = page[len(page)-1]
	}
}
