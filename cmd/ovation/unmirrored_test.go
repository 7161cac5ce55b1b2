package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/postgres"
)

// rowsOf writes a file with likes by alice and bob, and returns the file's path.
func rowsOf(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "rows.csv")
	must.Succeed(t, os.WriteFile(file, []byte("user,subject,event,time\nalice,movie,like,1700000000\nbob,movie,like,1700000001\n"), 0o600))
	return file
}

// Writes that bypass Redis must be refused while nodes use Redis. Otherwise, they would
// become visible late, and the nodes would report the old data as LIVE.
func TestChangesPastRedisAreRefusedWhileNodesUseIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	importRows := []string{"import", "--biz=video", "--time-unit=s", rowsOf(t)}
	withoutRedis := s.getenv("OVATION_REDIS_URL", "")
	database, err := postgres.Open(t.Context(), postgres.Options{URL: s.variables["OVATION_POSTGRES_URL"], Logger: discardLog})
	must.Succeed(t, err)
	defer database.Close()
	_, err = unmirrored{database}.Persist(t.Context(), []storage.Message{messageOf("before")}, nil)
	must.Succeed(t, err)

	node := s.start(t, "serve")
	node.seesMovie(t, "bob") // the movie is in every cache now
	s.sql(t, "UPDATE interactive SET like_count = 7")
	for _, args := range [][]string{importRows, {"verify", "--repair"}} {
		call(t, withoutRedis, args...).want(t, exitUsage, "set OVATION_REDIS_URL", "OVATION_PREFIX")
	}
	_, err = unmirrored{database}.Persist(t.Context(), []storage.Message{messageOf("after")}, nil) // like an import that has begun before the node
	if !errors.Is(err, errMirrorOpen) {
		t.Errorf("Persist past Redis = %v, want %v", err, errMirrorOpen)
	}
	call(t, withoutRedis, "verify").want(t, exitFailed, "stored as 7, counted 1", "Redis was not compared")
	s.run(t, "verify").want(t, exitFailed, "likeCount is ", "stored as 7, counted 1", "1 difference; ", "1 difference in Redis; ")
	s.run(t, "verify", "--repair").want(t, 0, "1 difference, repaired; ", "0 differences in Redis; ")
	node.seesMovie(t, "bob") // the counts, which the repair has dropped, are cached again
	s.run(t, importRows...).want(t, 0, "imported      2 × like")
	await.That(t, "the node shows what was imported", func() bool {
		var seen movieReply
		must.Succeed(t, node.graphQL("bob", movieQuery, &seen))
		return seen.Interactive.LikeCount == 2 && seen.Interactive.Liked != nil && seen.Interactive.Freshness == "LIVE"
	})
	s.run(t, importRows...).want(t, 0, "already there 2")
	s.run(t, "verify").want(t, 0, "0 differences; ", "0 differences in Redis; ")
}
