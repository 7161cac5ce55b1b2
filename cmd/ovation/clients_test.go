package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
)

// clientEvent is a line that web/check/subscriptions.mjs prints.
type clientEvent struct {
	Client, Is string
	LikeCount  int
	Liked      string
	Message    string
	Viewer     *struct{ UserID string }
	Errors     []any
}

// TestClientsOfNpm checks clients from npm packages against a server that is stopped and
// killed. Clients that use graphql-ws or graphql-sse watch a like count: they must
// reconnect by themselves, receive every final count, and never receive a lower count. A
// urql client must receive the first event. The test needs Node.js; `make test` installs
// everything else.
func TestClientsOfNpm(t *testing.T) {
	const modules = "../../web/node_modules/graphql-sse"
	_, errNode := exec.LookPath("node")
	_, errModules := os.Stat(modules)
	if err := errors.Join(errNode, errModules); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs Node.js and web/node_modules: ", err)
	}
	data := t.TempDir()
	s := serveBinary(t, data)
	at := strings.TrimPrefix(s.url, "http://")
	command := exec.Command("node", "../../web/check/subscriptions.mjs", s.url+"/graphql", "video", "1", "alice")
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	must.Succeed(t, err)
	stdout, err := command.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, command.Start())
	watchers := &npmClients{t: t, clientEvents: make(chan clientEvent, 1000), last: map[string]clientEvent{}}
	go watchers.read(bufio.NewScanner(stdout))
	t.Cleanup(func() {
		must.Succeed(t, stdin.Close())
		for range watchers.clientEvents { // until the script has ended
		}
		must.Succeed(t, command.Wait())
	})

	watchers.await(0, "")
	s.like(t, "bob", "1")
	watchers.await(1, "")
	s.like(t, "alice", "1")
	watchers.await(2, "LIKE")
	s.stop().want(t, 0)
	s = serveBinary(t, data, "--addr="+at)
	s.like(t, "carol", "1") // most likely before the clients have reconnected
	watchers.await(3, "LIKE")
	s.kill()
	s = serveBinary(t, data, "--addr="+at)
	for _, user := range []string{"dave", "eve", "frank"} {
		s.like(t, user, "1")
	}
	watchers.await(6, "LIKE")
	if !watchers.looked {
		t.Error("urql received no first event")
	}
	for name, connects := range watchers.connects {
		if connects < 3 {
			t.Errorf("%s has connected %d times, want at least 3", name, connects)
		}
	}
}

// npmClients records the events of the script's clients. Four of the clients watch; urql
// receives only the first event.
type npmClients struct {
	t            *testing.T
	clientEvents chan clientEvent
	last         map[string]clientEvent // the last event of each client
	connects     map[string]int
	looked       bool
}

func (c *npmClients) read(lines *bufio.Scanner) {
	defer close(c.clientEvents)
	for lines.Scan() {
		var h clientEvent
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			h = clientEvent{Client: "the script", Is: "error", Message: lines.Text()}
		}
		c.clientEvents <- h
	}
}

// await waits until the four watching clients have received the given number of likes.
// The two clients that watch as alice must also have received her reaction, liked, which
// is "" if she has none.
func (c *npmClients) await(likes int, liked string) {
	c.t.Helper()
	deadline := time.After(2 * time.Minute)
	for !c.haveReceived(likes, liked) {
		select {
		case h, more := <-c.clientEvents:
			if !more {
				c.t.Fatalf("the script ended before all clients received %d likes: %v", likes, c.last)
			}
			c.record(h)
		case <-deadline:
			c.t.Fatalf("not all clients received %d likes: %v", likes, c.last)
		}
	}
}

func (c *npmClients) haveReceived(likes int, liked string) bool {
	for _, name := range []string{"ws-user", "ws-nobody", "sse-user", "sse-nobody"} {
		h, known := c.last[name]
		if !strings.HasSuffix(name, "user") {
			h.Liked = liked
		}
		if !known || h.LikeCount != likes || h.Liked != liked {
			return false
		}
	}
	return true
}

func (c *npmClients) record(h clientEvent) {
	c.t.Helper()
	if len(h.Errors) > 0 {
		c.t.Errorf("%s received the errors %v, want none", h.Client, h.Errors)
	}
	switch h.Is {
	case "connected":
		if c.connects == nil {
			c.connects = map[string]int{}
		}
		c.connects[h.Client]++
	case "query":
		if named := h.Viewer != nil && h.Viewer.UserID == "alice"; named != strings.HasSuffix(h.Client, "user") {
			c.t.Errorf("%s has the viewer %v, want alice only if its name ends in user", h.Client, h.Viewer)
		}
	case "first":
		c.looked = true
	case "next":
		if h.LikeCount < c.last[h.Client].LikeCount {
			c.t.Errorf("%s received %d likes after %d, want no fewer", h.Client, h.LikeCount, c.last[h.Client].LikeCount)
		}
		c.last[h.Client] = h
	default:
		c.t.Fatalf("%s: got the event %s, want a known one: %s", h.Client, h.Is, h.Message)
	}
}
