package database

import (
	"context"

	"ovation/storage"
	"ovation/storage/calls"
	"ovation/storage/redis/internal/dependency"
)

// NewStore returns a Store that calls the database for everything that is not in Redis.
// Reads and lists are limited by their classes, and writes are rejected while the breaker is
// open. Other calls bypass the limits: they try the database in any case, or no request
// waits for them.
func NewStore(db storage.Store, database *dependency.Backend, reads, lists *dependency.Class) *calls.Store {
	return calls.New(db, func(ctx context.Context, call calls.Call, do func(context.Context) error) error {
		switch call.Class {
		case calls.Read:
			return reads.Do(ctx, call.Method, do)
		case calls.List:
			return lists.Do(ctx, call.Method, do)
		case calls.Write:
			if err := database.Err(); err != nil {
				return err
			}
		case calls.Upkeep, calls.Scan, calls.Other:
		}
		return do(ctx)
	})
}
