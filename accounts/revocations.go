package accounts

import (
	"context"
	"time"

	"ovation/storage"
)

const (
	pollTimeout   = 5 * time.Second // of a page, and of restoring a revocation
	pollPage      = 1000            // revocations in one read
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
// from that period may have become visible in the meantime. If the latest known revocation
// is no longer there, the database has lost commits in a failover: follow reads everything
// again, and restores what this node knows and the database does not.
func (s *Service) follow(ctx context.Context) error {
	after := s.pruneBefore()
	if s.lastRevocation > 0 {
		after = s.lastRevocation - storage.RevocationOverlap
	}
	latest, _, err := s.read(ctx, after)
	if err == nil && latest < s.lastRevocation {
		var stored map[storage.User]int64
		if latest, stored, err = s.read(ctx, s.pruneBefore()); err == nil {
			err = s.restoreAll(ctx, stored)
		}
	}
	if err == nil {
		s.lastRevocation = latest
	}
	return err
}

// read reads the revocations since the given time, in microseconds since 1970. It returns
// the time of the latest, or 0 if there are none, and the generation of each user.
func (s *Service) read(ctx context.Context, since int64) (latest int64, stored map[storage.User]int64, err error) {
	stored = map[storage.User]int64{}
	after := storage.Revocation{At: since}
	for {
		var page []storage.Revocation
		err := within(ctx, pollTimeout, func(ctx context.Context) (err error) {
			page, err = s.Store.Revocations(ctx, after, pollPage)
			return err
		})
		if err != nil {
			return 0, nil, err
		}
		for _, r := range page {
			s.Sessions.Revoke(r)
			latest, stored[r.User] = max(latest, r.At), r.Generation
		}
		if len(page) < pollPage {
			return latest, stored, nil
		}
		after = page[len(page)-1]
	}
}

// restoreAll writes the known revocations that the database does not have. The given
// generations are those of the database.
func (s *Service) restoreAll(ctx context.Context, stored map[storage.User]int64) error {
	restored := 0
	for _, r := range s.Sessions.Revocations() {
		if stored[r.User] >= r.Generation {
			continue
		}
		err := within(ctx, pollTimeout, func(ctx context.Context) error {
			a, err := s.Store.AccountOf(ctx, r.User)
			if err != nil || a == nil || a.Generation >= r.Generation {
				return err // the account is lost, too, or another node has restored its revocation
			}
			restored++
			_, err = s.restore(ctx, a, r.Generation)
			return err
		})
		if err != nil {
			return err
		}
	}
	s.Logger.WarnContext(ctx, "the database has lost revocations of tokens, as after a failover to an asynchronous standby; those that this node knows are restored", "restored", restored)
	return nil
}

// within calls f with a context that ends after the given time.
func within(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// restore raises the generation of an account to at least the given one, so that no token
// of an earlier generation is valid.
func (s *Service) restore(ctx context.Context, a *storage.Account, least int64) (_ *storage.Account, err error) {
	for a.Generation < least {
		if a, err = s.Store.RevokeTokens(ctx, a.User); err != nil {
			return nil, err
		}
	}
	return a, nil
}
