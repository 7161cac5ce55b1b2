package postgres

import (
	"context"
	"crypto/rand"

	"github.com/jackc/pgx/v5"
)

// Secret returns the random bytes stored under the given name. The first call for a name
// generates them.
func (s *Store) Secret(ctx context.Context, name string) (value []byte, err error) {
	const size = 32
	fresh := make([]byte, size)
	_, _ = rand.Read(fresh) // never fails
	err = s.write(ctx, "read secret", func(t *tx) error {
		b := t.batch()
		b.Queue(`INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, fresh)
		b.Queue(`SELECT value FROM secret WHERE name = $1`, name).QueryRow(func(row pgx.Row) error { return row.Scan(&value) })
		return t.send(b)
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}
