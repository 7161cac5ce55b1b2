package postgres

import (
	"testing"

	"ovation/internal/testing/postgrestest"
)

// TestRequestsAreKnownByTheirFormerName checks that the table request can still be used
// under its former name, comment_request. During an upgrade, processes of the previous
// release add comments and use that name.
func TestRequestsAreKnownByTheirFormerName(t *testing.T) {
	at := postgrestest.Schema(t)
	const insert = `
INSERT INTO comment_request AS r (tenant, user_id, request_id, fingerprint, comment_id, at)
SELECT 'default', 'alice', k.request_id, 'print', k.comment_id, 1000 FROM unnest($1::text[], $2::bigint[]) AS k (request_id, comment_id) ORDER BY 1
ON CONFLICT (tenant, user_id, request_id) DO UPDATE SET
    fingerprint = excluded.fingerprint, comment_id = excluded.comment_id, at = excluded.at
WHERE r.at < excluded.at - 10 RETURNING comment_id`
	if got := ask[int64](t, at, insert, []string{"one"}, []int64{7}); got != 7 {
		t.Errorf("the insertion returned comment %d, want 7", got)
	}
	if got := ask[int64](t, at, `SELECT result_id FROM request WHERE tenant = 'default' AND user_id = 'alice' AND request_id = 'one'`); got != 7 {
		t.Errorf("the request has the result %d, want 7", got)
	}
	postgrestest.Exec(t, at, `
DELETE FROM comment_request WHERE (tenant, user_id, request_id) IN (
    SELECT tenant, user_id, request_id FROM comment_request
    WHERE at < 2000 ORDER BY at LIMIT 10 FOR UPDATE SKIP LOCKED)`)
	if got := ask[int64](t, at, `SELECT count(*) FROM request`); got != 0 {
		t.Errorf("got %d requests left, want 0", got)
	}
}
