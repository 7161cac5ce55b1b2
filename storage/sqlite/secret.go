package sqlite

import (
	"context"
	"crypto/rand"
)

// Secret returns the random bytes stored under the given name. The first call for a name
// generates them.
func (s *Store) Secret(ctx context.Context, name string) (value []byte, err error) {
	const size = 32
	fresh := make([]byte, size)
	_, _ = rand.Read(fresh) // never fails
	err = s.write(ctx, "read secret", func(t tx) error {
		if _, err := t.exec(`INSERT INTO secret (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING`, name, fresh); err != nil {
			return err
		}
		return t.query(`SELECT value FROM secret WHERE name = ?`, []any{name}, func(scan func(...any) error) error {
			return scan(&value)
		})
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}
