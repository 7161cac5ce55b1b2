package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/sqlstore"
	"ovation/storage/storagetest"
)

// fillConversation adds n messages between alice and another user. Two of three are from
// that user. The messages are numbered if numbered is true.
func fillConversation(t *testing.T, at, with string, n int, numbered bool) {
	t.Helper()
	numbers := `0, 0`
	if numbered {
		numbers = `ceil(i / 3.0), i - ceil(i / 3.0)`
	}
	for _, statement := range []string{
		`INSERT INTO message (tenant, user_low, user_high, message_id, from_low, text, created, low_sent, high_sent)
		SELECT 'default', 'alice', $1, i, i % 3 = 1, 'text', i, ` + numbers + ` FROM generate_series(1, $2::int) i`,
		`INSERT INTO conversation SELECT 'default', 'alice', $1, $2::int, $2::int - ceil($2::int / 3.0), 0`,
		`INSERT INTO conversation SELECT 'default', $1, 'alice', $2::int, ceil($2::int / 3.0), 0`,
		`INSERT INTO mailbox SELECT 'default', id, $2::int FROM unnest(ARRAY['alice', $1]) id ON CONFLICT DO NOTHING`,
	} {
		execute(t, at, statement, with, n)
	}
}

func execute(t *testing.T, at, statement string, args ...any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), at)
	must.Succeed(t, err)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), statement, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	must.Succeed(t, err)
}

func conversationOfAlice(with string) storage.ConversationKey {
	return storage.ConversationKey{Owner: alice, With: storage.User{Tenant: storage.DefaultTenant, UserID: with}}
}

// TestMarkReadTouchesAsManyBlocks checks that marking one message of a long conversation
// as read touches about as many blocks as in a short one, so that the lock on the
// conversation is held for as long.
func TestMarkReadTouchesAsManyBlocks(t *testing.T) {
	t.Parallel()
	at := postgrestest.Schema(t)
	blocks := map[string]int64{}
	for with, n := range map[string]int{"few": 30, "many": 30_000} {
		fillConversation(t, at, with, n, true)
	}
	execute(t, at, `ANALYZE message, conversation`)
	s := openAt(t, Options{URL: at})
	for with, n := range map[string]int64{"few": 30, "many": 30_000} {
		key := conversationOfAlice(with)
		pair := sqlstore.PairOf(key)
		var explained []byte
		must.Succeed(t, s.pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "+updateRead, key.Owner.Tenant, key.Owner.UserID,
			key.With.UserID, pair.Low.UserID, pair.High.UserID, pair.Low == key.With, n-1).Scan(&explained))
		var plans []struct {
			Plan struct {
				Hit  int64 `json:"Shared Hit Blocks"`
				Read int64 `json:"Shared Read Blocks"`
			}
		}
		must.Succeed(t, json.Unmarshal(explained, &plans))
		blocks[with] = plans[0].Plan.Hit + plans[0].Plan.Read
	}
	t.Logf("blocks: %v", blocks)
	if blocks["few"] == 0 || blocks["many"] > 2*blocks["few"] {
		t.Errorf("got the blocks touched %v, want at most twice those of few messages", blocks)
	}
	for with, n := range map[string]int64{"few": 30, "many": 30_000} {
		got, err := s.MarkRead(t.Context(), conversationOfAlice(with), n-4)
		if err != nil || got.Unread != 1 || got.ReadTo != n-1 {
			t.Errorf("%s: got %+v, %v, want 1 unread message, read up to %d", with, got, err, n-1)
		}
	}
}

// TestMarkReadNumbersOlderMessages checks that unread counts are exact in a conversation
// with messages of the release before, to which older processes still add some, while
// users send messages and mark them as read.
func TestMarkReadNumbersOlderMessages(t *testing.T) {
	t.Parallel()
	at := postgrestest.Schema(t)
	const older = 2*numberingBatch + 100
	fillConversation(t, at, "bob", older, false)
	s := openAt(t, Options{URL: at})
	key := conversationOfAlice("bob")
	reverse := storage.ConversationKey{Owner: key.With, With: key.Owner}
	send := func(from, to storage.User, text string) error {
		return storagetest.UntilUnlocked(func() error {
			_, err := s.AddMessages(t.Context(), []storage.NewDirectMessage{{From: from, To: to, Text: text}, {From: from, To: to, Text: text}})
			return err
		})
	}
	read := func(key storage.ConversationKey, upTo int64) (got *storage.Conversation, err error) {
		return got, storagetest.UntilUnlocked(func() error {
			got, err = s.MarkRead(t.Context(), key, upTo)
			return err
		})
	}
	must.Succeed(t, send(key.With, key.Owner, "new"))
	const unnumbered = `SELECT count(*) FROM message WHERE low_sent + high_sent = 0`
	if got, err := read(key, storage.MaxCommentID); err != nil || got.Unread != 0 || ask[int](t, at, unnumbered) != older+2 {
		t.Errorf("marking all as read: got %+v, %v, %d messages without numbers, want 0 unread, %d", got, err, ask[int](t, at, unnumbered), older+2)
	}
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for round := range 10 {
				if err := send(key.Owner, key.With, fmt.Sprint(i, round)); err != nil {
					t.Errorf("AddMessages: %v", err)
				}
				if _, err := read(reverse, int64(1+round*older/10)); err != nil {
					t.Errorf("MarkRead: %v", err)
				}
			}
		})
	}
	running.Wait()
	verifyNumbers := func(what string) {
		t.Helper()
		const wrong = `SELECT count(*) FROM (SELECT low_sent, high_sent, count(*) FILTER (WHERE from_low) OVER w AS low, count(*) FILTER (WHERE NOT from_low) OVER w AS high
			FROM message WINDOW w AS (ORDER BY message_id)) m WHERE low_sent <> low OR high_sent <> high`
		if n := ask[int](t, at, wrong); n > 0 {
			t.Errorf("%s: %d messages have wrong numbers", what, n)
		}
		if _, err := s.Verify(t.Context(), false, func(d storage.Difference) error { return fmt.Errorf("%+v", d) }); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	verifyNumbers("after concurrent calls")

	// An older process adds messages without numbers.
	execute(t, at, `UPDATE message SET low_sent = 0, high_sent = 0 WHERE message_id >= (SELECT message_id FROM message ORDER BY message_id DESC OFFSET 2 LIMIT 1)`)
	must.Succeed(t, send(key.Owner, key.With, "after it"))
	last := ask[int64](t, at, `SELECT message_id FROM message ORDER BY message_id DESC OFFSET 4 LIMIT 1`)
	if got, err := read(reverse, last); err != nil || got.Unread != 4 || got.ReadTo != last {
		t.Errorf("marking all but four messages as read: got %+v, %v, want 4 unread", got, err)
	}
	verifyNumbers("after an older process")
}

// TestMarkReadIsUnavailableWhileMessagesLackNumbers checks the error that a call returns if
// there are messages without numbers again each time it has numbered them, as when an older
// process keeps adding some.
func TestMarkReadIsUnavailableWhileMessagesLackNumbers(t *testing.T) {
	t.Parallel()
	at := postgrestest.Schema(t)
	fillConversation(t, at, "bob", 5, false)
	postgrestest.Exec(t, at, `CREATE FUNCTION clear_numbers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.low_sent = 0; NEW.high_sent = 0; RETURN NEW; END $$`,
		`CREATE TRIGGER clear_numbers BEFORE UPDATE ON message FOR EACH ROW EXECUTE FUNCTION clear_numbers()`)
	got, err := openAt(t, Options{URL: at}).MarkRead(t.Context(), conversationOfAlice("bob"), 3)
	if !errors.Is(err, storage.ErrUnavailable) || got != nil {
		t.Errorf("MarkRead = %+v, %v, want %v", got, err, storage.ErrUnavailable)
	}
	postgrestest.Exec(t, at, `DROP TRIGGER clear_numbers ON message`)
	if got, err := openAt(t, Options{URL: at}).MarkRead(t.Context(), conversationOfAlice("bob"), 3); err != nil || got.ReadTo != 3 {
		t.Errorf("MarkRead once messages keep their numbers = %+v, %v, want them read up to 3", got, err)
	}
}
