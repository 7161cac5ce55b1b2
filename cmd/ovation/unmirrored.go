package main

import (
	"context"

	"ovation/storage"
	"ovation/storage/postgres"
)

// unmirrored writes to a database without telling Redis. It may do so only while
// Redis is not used: otherwise its nodes would go on showing what was before, as
// live, until their copies expire.
type unmirrored struct{ *postgres.Store }

// errMirrorOpen is wrong use: a URL is missing.
var errMirrorOpen = usage("the nodes of this database answer from Redis, which has to learn of every change: " +
	"set OVATION_REDIS_URL, and OVATION_PREFIX where theirs is not \"ovation\"")

// check returns errMirrorOpen while Redis is used.
func (s unmirrored) check(ctx context.Context) error {
	e, err := s.Epoch(ctx)
	if err == nil && e.Open {
		err = errMirrorOpen
	}
	return err
}

// refuse keeps a transaction from being committed that Redis has to learn of.
func refuse(mark storage.Mark) storage.Mark {
	return func(ctx context.Context, outcome storage.Outcome) error {
		switch {
		case outcome.Epoch != 0:
			return errMirrorOpen
		case mark != nil:
			return mark(ctx, outcome)
		}
		return nil
	}
}

// Persist persists while Redis is not used.
func (s unmirrored) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	return s.Store.Persist(ctx, messages, refuse(mark))
}

// Verify repairs while Redis is not used. Where its use begins meanwhile, that
// is an error in the end: what has been repaired may show late.
func (s unmirrored) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (int64, error) {
	if repair {
		if err := s.check(ctx); err != nil {
			return 0, err
		}
	}
	n, err := s.Store.Verify(ctx, repair, report)
	if err == nil && repair {
		err = s.check(ctx)
	}
	return n, err
}
