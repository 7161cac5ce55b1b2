package redis

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/window"
	"ovation/storage/redis/internal/windows"
	"ovation/storage/storagetest"
)

// malformedValues maps descriptions to commands. Each command writes a value to Redis
// that this package never writes. EPOCH stands for the number of the epoch.
var malformedValues = map[string][]string{
	"a text in place of the window":   {"SET", "ovation:EPOCH:w:{default:u:alice}:video", "x"},
	"a text in place of the counts":   {"SET", "ovation:EPOCH:c:{default:video:movie}", "x"},
	"a part too many":                 {"HSET", "ovation:EPOCH:w:{default:u:alice}:video", "smovie", "10 - 1 1 0:1;;;"},
	"a malformed follow":              {"HSET", "ovation:EPOCH:w:{default:u:alice}:video", "smovie", "10 - 1 1 0:1;;x"},
	"a malformed entry in the window": {"HSET", "ovation:EPOCH:w:{default:u:alice}:video", "smovie", "x"},
	"a malformed history":             {"HSET", "ovation:EPOCH:w:{default:u:alice}:video", "smovie", "1 - 1 1 x:y;"},
	"a version that is too large":     {"HSET", "ovation:EPOCH:w:{default:u:alice}:video", "smovie", "99999999999999999999 - 1 1 0:1;"},
	"counts that are not numbers":     {"HSET", "ovation:EPOCH:c:{default:video:movie}", "n", "x 1 1 1 1 1"},
	"one count that is not a number":  {"HSET", "ovation:EPOCH:c:{default:video:movie}", "n", "2 0 x 0 0 0"},
	"a missing count":                 {"HSET", "ovation:EPOCH:c:{default:video:movie}", "n", "2 0 0 2 0 0 @"},
	"an additional count":             {"HSET", "ovation:EPOCH:c:{default:video:movie}", "n", "2 0 0 2 0 0 0 0 @"},
	"a count that is too large":       {"HSET", "ovation:EPOCH:c:{default:video:movie}", "n", "2 0 0 99999999999999999999 0 0 0 @"},
	"an invalid author":               {"HSET", "ovation:EPOCH:c:{default:video:movie}", "n", "2 0 0 2 0 0 0 @\x01"},
	"counts without an author":        {"HSET", "ovation:EPOCH:c:{default:video:movie}", "n", "2 0 2 0 0 0"},
	"an invalid birth":                {"HSET", "ovation:EPOCH:w:{default:u:alice}:video", "~b", "x"},
	"an empty birth":                  {"HSET", "ovation:EPOCH:w:{default:u:alice}:video", "~b", ""},
}

// malform persists likes of movie by alice and bob, and then runs the given command,
// which writes a malformed value. It returns a node that has cached nothing, and the
// node's database.
func malform(t *testing.T, words []string) (*Store, *hooked) {
	t.Helper()
	server, first := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: first})
	for _, user := range []storage.User{alice, bob} {
		see(t, s, user, movie) // loads the window
		persist(t, first, s, storagetest.React(user, movie, storage.Like, 10))
		see(t, s, user, movie)
	}
	number := strconv.FormatInt(s.epochs.Current().Number, 10)
	words = slices.Clone(words)
	words[1] = strings.Replace(words[1], "EPOCH", number, 1)
	must.Succeed(t, server.command(words...).Error())
	db := &hooked{Database: openAgain(t, first)}
	return open(t, Options{URL: server.url(), Database: db}), db
}

func TestMalformedValueIsReplacedFromTheDatabase(t *testing.T) {
	for what, words := range malformedValues {
		t.Run(what, func(t *testing.T) {
			s, db := malform(t, words)
			wantLikes(t, "the first to see it", see(t, s, alice, movie), 2, true)
			wantLikes(t, "another user", see(t, s, bob, movie), 2, true)
			see(t, s, alice, movie)
			awaitCached(t, s, movie)
			db.reads.Store(0)
			got, err := s.Interactives(t.Context(), alice, []storage.Subject{movie}, window.KindSet)
			must.Succeed(t, err)
			wantLikes(t, "later", got[0], 2, true)
			if n := db.reads.Load(); n > 0 {
				t.Errorf("got %d reads of the database after the value was replaced, want none", n)
			}
			if n := s.redis.Failures(); n > 0 {
				t.Errorf("malformed values count as %d failures of Redis, want 0", n)
			}
		})
	}
}

// A malformed value does not affect reads for other users in the same round trip.
func TestMalformedValueFailsNoOther(t *testing.T) {
	for what, words := range malformedValues {
		t.Run(what, func(t *testing.T) {
			s, _ := malform(t, words)
			at := s.epochs.Active()
			both := []*windows.Request{{}, {}}
			for i, user := range []storage.User{alice, bob} {
				both[i].Init(at.Keys, storage.StateKey{User: user, Subject: movie})
			}
			err := s.windows.ReadAll(t.Context(), "read states", both)
			if _, found := both[1].Result(window.Reaction, time.Minute); err != nil || !found {
				t.Errorf("ReadAll: bob's reaction found: %t, error %v, want it found", found, err)
			}
			states, _ := getStates(t, s, alice, movie)
			if states.Liked == nil {
				t.Errorf("Get = %+v, want a like", states)
			}
		})
	}
}

// A malformed entry does not hide the other entries of its field: they may be queued, and
// the user's next action relies on them.
func TestMalformedEntryHidesNoOther(t *testing.T) {
	s, _ := malform(t, []string{"HSET", "ovation:EPOCH:w:{default:u:alice}:video", "~x", ""})
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.Collect(alice, movie, storage.DefaultFolderID, 20), follow(alice, movie, 20)}, storage.Queued, nil))
	malformed := []string{"1 - 1 1 x:y"}
	for _, text := range strings.Split(windowField(t, s, alice, movie), ";")[1:] {
		words := strings.Fields(text)
		words[2] = "1" // touched long ago, so that the entry must be touched again
		malformed = append(malformed, strings.Join(words, " "))
	}
	key := s.windowKey(mirror.WindowKey{User: alice, Biz: movie.Biz})
	must.Succeed(t, s.client.Do(t.Context(), s.client.B().Hset().Key(key).FieldValue().FieldValue(window.Field(movie.BizID), strings.Join(malformed, ";")).Build()).Error())
	states, where, err := s.Get(t.Context(), []storage.StateKey{{User: alice, Subject: movie}}, storage.KindsOf(storage.KindCollection, storage.KindFollow))
	must.Succeed(t, err)
	if states[0].Collected == nil || states[0].Followed == nil || where != storage.Queued {
		t.Errorf("Get = %+v, %q, want it collected and followed, %q", states[0], where, storage.Queued)
	}
}

// A worker continues despite a malformed value, and the worker's writes are visible.
func TestWorkerReplacesMalformedValues(t *testing.T) {
	for what, words := range malformedValues {
		t.Run(what, func(t *testing.T) {
			s, db := malform(t, words)
			must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.NoReaction, 20)}, storage.Queued, nil))
			persist(t, db, s, storagetest.React(alice, movie, storage.NoReaction, 20), storagetest.React(bob, movie, storage.Dislike, 20))
			wantLikes(t, "to alice, who has cleared her like", see(t, s, alice, movie), 0, false)
			if got := see(t, s, bob, movie); got.DislikeCount != 1 || got.LikeCount != 0 || got.Freshness != storage.Live {
				t.Errorf("to bob: got %+v, want 0 likes, 1 dislike, %s", got, storage.Live)
			}
		})
	}
}

func TestMalformedValuesAreCounted(t *testing.T) {
	s, _ := malform(t, malformedValues["a malformed entry in the window"])
	see(t, s, alice, movie)
	if n := testutil.ToFloat64(s.scripts.Malformed.Total); n != 1 {
		t.Errorf("got %v malformed values counted, want 1", n)
	}
}
