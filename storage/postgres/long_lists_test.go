package postgres

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage/storagetest"
)

// queryRecorder records the statements that the connections of a pool run.
type queryRecorder struct{ statements []pgx.TraceQueryStartData }

func (a *queryRecorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	a.statements = append(a.statements, data)
	return ctx
}

func (*queryRecorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// trace replaces the pool of a store with a pool that records its statements.
func trace(t *testing.T, s *Store) *queryRecorder {
	t.Helper()
	a, cfg := new(queryRecorder), s.pool.Config()
	cfg.ConnConfig.Tracer = a
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	must.Succeed(t, err)
	s.pool.Close()
	s.pool = pool
	return a
}

// blocks calls the function call, repeats its statements with EXPLAIN (ANALYZE), and
// returns how many blocks they touch.
func (a *queryRecorder) blocks(t *testing.T, s *Store, call func()) (n int64) {
	t.Helper()
	a.statements = nil
	call()
	for _, statement := range a.statements {
		var explained []byte
		must.Succeed(t, s.pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "+statement.SQL, statement.Args...).Scan(&explained))
		var plans []struct {
			Plan struct {
				Hit  int64 `json:"Shared Hit Blocks"`
				Read int64 `json:"Shared Read Blocks"`
			}
		}
		must.Succeed(t, json.Unmarshal(explained, &plans))
		n += plans[0].Plan.Hit + plans[0].Plan.Read
	}
	return n
}

// TestPagesOfLongListsTouchAsManyBlocks checks that a page of a long list touches at most
// twice as many blocks as a page of a short list, wherever the page begins.
func TestPagesOfLongListsTouchAsManyBlocks(t *testing.T) {
	at := postgrestest.Schema(t)
	storagetest.FillLongLists(func(sql string) { postgrestest.Exec(t, at, sql) })
	postgrestest.Exec(t, at, `VACUUM ANALYZE comment, user_follow, interactive, user_totals, comment_count`)
	s := openAt(t, Options{URL: at})
	traced := trace(t, s)
	for _, list := range storagetest.LongLists() {
		blocks := map[string]int64{}
		for name, read := range list.Pages(t, s) {
			blocks[name] = traced.blocks(t, s, read)
		}
		t.Logf("%s: %v", list.Name, blocks)
		if most := 2 * blocks["short"]; blocks["short"] == 0 || blocks["first"] > most || blocks["far"] > most {
			t.Errorf("%s: got the blocks touched by pages %v, want at most twice those of the short list", list.Name, blocks)
		}
	}
}
