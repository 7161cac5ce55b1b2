package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/internal/testing/redistest"
)

// erasableRows writes a file with actions by the user erasable on as many subjects, and
// returns the file's path.
func erasableRows(t *testing.T, states int) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "rows.csv")
	var b strings.Builder
	b.WriteString("user,subject,event,time\n")
	events := []string{"like", "collect", "read", "follow", "like"}
	for i := range states {
		fmt.Fprintf(&b, "%s,%d,%s,%d\n", erasable, i, events[i%len(events)], 1_700_000_000+i)
	}
	must.Succeed(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return file
}

func TestEraseResumesAfterKills(t *testing.T) {
	t.Parallel()
	eraseUnderLoad(t, 6000)
}

// eraseUnderLoad erases a user with the given number of states while others like, collect
// and follow the same subjects, and kills the command three times. All counts are right
// after every kill. In the end, neither Postgres nor Redis holds anything of the user.
func eraseUnderLoad(t *testing.T, states int) {
	t.Helper()
	const users, kills = 4, 3
	s := newSite(t)
	s.runBinary(t, "import", "--biz=video", "--time-unit=s", erasableRows(t, states)).want(t, 0, "imported")
	s.start(t, "work")
	node := s.start(t, "serve")
	node.actAsErasable(t)

	var stop atomic.Bool
	var acted atomic.Int64
	var acting sync.WaitGroup
	for n := range users {
		acting.Go(func() {
			for !stop.Load() {
				id, mutation := rand.IntN(states), []string{"like", "unlike", "collect", "uncollect", "follow", "unfollow", "read"}[rand.IntN(7)]
				if err := node.graphQL(fmt.Sprint("user", n), fmt.Sprintf(`mutation { %s(input: {biz: "video", bizId: "%d"}) { changed } }`, mutation, id), nil); err != nil {
					t.Errorf("%s: %v", mutation, err)
					return
				}
				acted.Add(1)
			}
		})
	}
	defer func() {
		stop.Store(true)
		acting.Wait()
	}()
	left := func() int {
		return int(s.queryInt(t, fmt.Sprintf(`SELECT (SELECT count(*) FROM user_reaction WHERE user_id = '%[1]s' AND state <> 0) + (SELECT count(*) FROM user_reaction WHERE user_id = '%[1]s')
			+ (SELECT count(*) FROM user_read WHERE user_id = '%[1]s')`, erasable)))
	}
	erase := []string{"erase", "--user=" + erasable, "--yes"}
	for kill := range kills {
		at := left() * (1 + rand.IntN(3)) / 4
		command := exec.Command(binary, erase...)
		command.Env = s.environ()
		must.Succeed(t, command.Start())
		await.That(t, "a part is erased", func() bool { return left() <= at })
		must.Succeed(t, command.Process.Kill())
		_ = command.Wait() // it was killed
		t.Logf("kill %d with %d rows left, after %d actions of others", kill+1, left(), acted.Load())
		call(t, s.getenv("OVATION_REDIS_URL", ""), "verify").want(t, 0, "0 differences; ")
	}
	got := s.runBinary(t, erase...)
	got.want(t, 0, "Nothing of the user is left in the database and Redis")
	t.Logf("%s%d actions of others", got.stdout, acted.Load())
	stop.Store(true)
	acting.Wait()
	wantNoTrace(t, "Postgres", postgrestest.Dump(t, s.variables["OVATION_POSTGRES_URL"]))
	wantNoTrace(t, "Redis", redistest.Dump(t, s.variables["OVATION_REDIS_URL"], s.variables["OVATION_PREFIX"]))
	s.agrees(t)
}
