package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
)

// Limits on the documents (persisted queries) of one tenant.
const (
	maxDocuments     = 1_000
	maxDocumentBytes = 4 << 20
	documentTTL      = 24 * time.Hour // since the latest registration; clients register expired documents again
)

// Document returns the document that one of the tenant's clients has registered under the
// given hash, or "" if there is none. Errors: storage.ErrUnavailable, the context's
// error.
func (s *Store) Document(ctx context.Context, tenant, hash string) (text string, err error) {
	err = s.redis.Call(ctx, "read a document", func(ctx context.Context) error {
		found, err := s.client.Do(ctx, s.client.B().Hget().Key(keyspace.Documents(s.opts.Prefix, tenant)).Field(hash).Build()).ToString()
		switch {
		case err == nil:
			text = found
		case !rueidis.IsRedisNil(err) && !scripts.WrongType(err):
			return err
		}
		return nil
	})
	return text, err
}

// KeepDocument registers a document under its hash. It evicts the tenant's oldest
// documents if the tenant has more than maxDocuments or if their total length exceeds
// maxDocumentBytes. Errors: storage.ErrUnavailable, the context's error.
func (s *Store) KeepDocument(ctx context.Context, tenant, hash, text string) error {
	return s.keepDocument(ctx, tenant, hash, text, maxDocuments, maxDocumentBytes)
}

func (s *Store) keepDocument(ctx context.Context, tenant, hash, text string, documents, bytes int) error {
	return s.redis.Call(ctx, "keep a document", func(ctx context.Context) error {
		_, err := s.scripts.Run(ctx, []scripts.Call{scripts.Document.On(keyspace.Documents(s.opts.Prefix, tenant), nil,
			hash, text, strconv.Itoa(documents), strconv.Itoa(bytes), strconv.FormatInt(documentTTL.Milliseconds(), 10))})
		return err
	})
}
