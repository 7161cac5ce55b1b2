package redis

import (
	"testing"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/internal/testing/redistest"
	"ovation/storage"
	"ovation/storage/postgres"
	"ovation/storage/storagetest"
	"ovation/worker"
)

var _ worker.Mirror = (*Store)(nil)

// TestStore runs the cases about states and counts in the environment with the most
// constraints: over Postgres, whose writers are concurrent, and in a cluster, where a
// command and a script may only use keys of one slot.
func TestStore(t *testing.T) {
	t.Parallel()
	url, _ := startCluster(t)
	storagetest.RunStates(t, func(t *testing.T) storagetest.Database {
		t.Helper()
		schema, prefix := postgrestest.Schema(t), prefix()
		return storagetest.Database{
			Open: func(t *testing.T) storage.Store {
				t.Helper()
				db, err := postgres.Open(t.Context(), postgres.Options{URL: schema})
				must.Succeed(t, err)
				s := open(t, Options{URL: url, Database: db, Prefix: prefix})
				holdLease(s) // no epoch ends in a suite
				return s
			},
			Edit: func(t *testing.T, statement string) {
				t.Helper()
				postgrestest.Exec(t, schema, statement)
			},
			Dump: func(t *testing.T) string {
				t.Helper()
				return postgrestest.Dump(t, schema) + redistest.Dump(t, url, prefix)
			},
		}
	})
}
