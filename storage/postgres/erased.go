package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// A transaction that may add data of users holds lockErased, or the lock of pinEpoch, and
// then looks up erased users. BeginErase commits the user's digest and then waits for the
// transactions that held one of these locks at that time, as they may have missed it.
const (
	lockErased = `LOCK TABLE erased_user IN ROW SHARE MODE`

	selectErased = `
SELECT k.ord FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (tenant, user_id, ord)
WHERE ` + erased

	// digest is storage.User.Digest of a row k.
	digest = `encode(sha256(convert_to(k.tenant || chr(10) || k.user_id, 'UTF8')), 'hex')`

	// erased is the condition that the user of a row k was erased, and notErased the
	// opposite. While no user is erased, no digest is computed.
	erased    = someErased + ` AND ` + findErased + ` IS NOT NULL`
	notErased = `(NOT ` + someErased + ` OR ` + findErased + ` IS NULL)`

	someErased = `EXISTS (SELECT FROM erased_user WHERE digest > '')`
	findErased = `(SELECT finished FROM erased_user e WHERE e.digest = ` + digest + ` LIMIT 1)`

	selectErasureLockers = `
SELECT DISTINCT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation IN ('mirror'::regclass, 'erased_user'::regclass) AND mode = 'RowShareLock' AND granted AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
)

// lookUpErased queues a lookup of erased users. The transaction must hold the lock of
// pinEpoch. Once the batch is sent, the result holds those of the users that were erased.
func lookUpErased(b *pgx.Batch, users ...storage.User) sqlstore.ErasedUsers {
	found := sqlstore.ErasedUsers{}
	b.Queue(selectErased, userKeys(users).args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		err := row.Scan(&i)
		if err == nil {
			found[users[i-1]] = true
		}
		return err
	}))
	return found
}

// lookUpErasedLocked is lookUpErased for a transaction without the lock of pinEpoch.
func lookUpErasedLocked(b *pgx.Batch, users ...storage.User) sqlstore.ErasedUsers {
	b.Queue(lockErased)
	return lookUpErased(b, users...)
}

// erasureLockers returns the ids of the transactions that may have missed an erased user.
func (s *Store) erasureLockers(ctx context.Context) (ids []string, err error) {
	return s.lockers(ctx, selectErasureLockers)
}
