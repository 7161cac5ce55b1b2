// Package port finds ports for the servers of tests. Only tests import it.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// The ports that are tried. They are below those that Linux assigns to outgoing
// connections (from 32768). Otherwise such a connection could take the port of a server
// that a test stops and starts again.
const first, last = 10_000, 29_999

var used sync.Map // ports that were returned in this process

// Free returns a port of 127.0.0.1 on which no process listens and that Free has not
// returned before. It fails the test if it finds none.
func Free(tb testing.TB) int {
	tb.Helper()
	for range 1000 {
		port := first + rand.IntN(last-first+1) //nolint:gosec // nobody gains by guessing it
		listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			tb.Fatal(err)
		}
		if _, taken := used.LoadOrStore(port, true); !taken {
			return port
		}
	}
	tb.Fatal("no port is free")
	return 0
}
