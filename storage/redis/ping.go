package redis

import "context"

// Ping reports whether Redis or the database answers: with one of them away
// the other one serves. What is known to be away is not asked.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	err := s.redis.Call(ctx, "ping", func(ctx context.Context) error {
		return s.client.Do(ctx, s.client.B().Ping().Build()).Error()
	})
	if err == nil {
		return nil
	}
	return s.database.Run(ctx, "ping", s.Store.Ping)
}
