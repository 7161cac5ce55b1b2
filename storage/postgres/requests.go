package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	selectRequests = `
SELECT k.ord, r.result_id, r.fingerprint
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_id, request_id, ord)
CROSS JOIN LATERAL (SELECT result_id, fingerprint FROM request r
    WHERE r.tenant = k.tenant AND r.user_id = k.user_id AND r.request_id = k.request_id
        AND r.at >= ` + transactionTime + ` - $4 LIMIT 1) r`

	// insertRequests replaces an expired request. Any other existing request was added
	// after the batch had looked it up; the statement neither changes nor counts it.
	insertRequests = `
INSERT INTO request AS r (tenant, user_id, request_id, fingerprint, result_id, at)
SELECT k.tenant, k.user_id, k.request_id, k.fingerprint, k.result_id, ` + transactionTime + `
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, request_id, fingerprint, result_id, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, request_id) DO UPDATE SET
    fingerprint = excluded.fingerprint, result_id = excluded.result_id, at = excluded.at
WHERE r.at < excluded.at - $6`
)

// lookUpRequests queues a lookup of earlier requests. Once the batch is sent, of.Before
// holds these requests.
func lookUpRequests(b *pgx.Batch, of *sqlstore.RequestLog) {
	if len(of.Requests) == 0 {
		return
	}
	keys := newColumns(3, 0, len(of.Requests))
	for _, k := range of.Requests {
		keys.add([]string{k.User.Tenant, k.User.UserID, k.RequestID})
	}
	b.Queue(selectRequests, keys.args(storage.RequestAge.Microseconds())...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var r sqlstore.Request
		if err := row.Scan(&i, &r.ResultID, &r.Fingerprint); err != nil {
			return err
		}
		r.Key = of.Requests[i-1]
		of.Before[r.Key] = r
		return nil
	}))
}

// recordRequests queues a statement that writes of.New. Once the batch is sent, the
// function raced returns errRequestRaced if another transaction has recorded one of these
// requests in the meantime.
func recordRequests(b *pgx.Batch, of *sqlstore.RequestLog) (raced func() error) {
	asked := int64(len(of.New))
	noted := asked
	if asked > 0 {
		rows := newColumns(4, 1, len(of.New))
		for _, r := range of.New {
			rows.add([]string{r.Key.User.Tenant, r.Key.User.UserID, r.Key.RequestID, r.Fingerprint}, r.ResultID)
		}
		b.Queue(insertRequests, rows.args(storage.RequestAge.Microseconds())...).Exec(rowsAffected(&noted))
	}
	return func() error {
		if noted < asked {
			return errRequestRaced
		}
		return nil
	}
}

// errRequestRaced is returned if another transaction, which took other locks, has
// recorded the same request id in the meantime.
var errRequestRaced = errors.New("a request with the same id is in progress")

// retryRaced calls the function do, and repeats the call while do returns
// errRequestRaced, up to maxTries calls in total.
func retryRaced(do func() error) error {
	for try := 1; ; try++ {
		if err := do(); err == nil || try == maxTries || !errors.Is(err, errRequestRaced) {
			return err
		}
	}
}
