package main

import (
	"os"
	"testing"

	"ovation/internal/testing/must"
)

// TestWritesAreVisibleOnEveryNode checks that writes through one node of a site are
// immediately visible on the other node.
func TestWritesAreVisibleOnEveryNode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	folder := t.TempDir()
	must.Succeed(t, os.Chmod(folder, 0o777))
	s.variables["PATH"], s.variables["OVATION_BLOB_URL"], s.variables["OVATION_VIDEOS"] = fakeFFmpeg(t), "file://"+folder, "true"
	s.start(t, "work")
	nodes := []*server{s.start(t, "serve"), s.start(t, "serve")}
	for name, check := range map[string]func(*testing.T, []*server){
		"comments": commentsOnEveryNode, "messages": messagesOnEveryNode, "videos": videosOnEveryNode,
	} {
		t.Run(name, func(t *testing.T) { check(t, nodes) })
	}
	s.consistent(t)
}
