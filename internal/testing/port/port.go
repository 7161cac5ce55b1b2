// Package port finds ports for the servers of tests. Only tests import it.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// The range of ports. It is below the ports that Linux assigns to outgoing connections
// (from 32768): such a connection could otherwise take the port of a server that a test
// restarts.
const minPort, maxPort = 10_000, 29_999

var returnedPorts sync.Map // ports that were returned in this process

// Free returns a port of 127.0.0.1 on which no process listens and that Free has not
// returned before. It fails the test if it finds none.
func Free(tb testing.TB) int {
	tb.Helper()
	for range 1000 {
		port := minPort + rand.IntN(maxPort-minPort+1) //nolint:gosec // not a secret
		listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			tb.Fatal(err)
		}
		if _, taken := returnedPorts.LoadOrStore(port, true); !taken {
			return port
		}
	}
	tb.Fatal("found no free port")
	return 0
}
