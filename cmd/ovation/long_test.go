//go:build long

package main

import (
	"testing"
	"time"
)

// The tests of the long tier check the promises of the product at full load.

// promisedLoad is the load that the product must bear.
var promisedLoad = clickLoad{users: 1000, during: 30 * time.Second}

func TestLongDoubleClicks(t *testing.T) {
	data := t.TempDir()
	promisedLoad.doubleClicks(t, data, serveBinary(t, data, "--log-level=error"))
}

func TestLongKillUnderLoad(t *testing.T) { promisedLoad.kill(t) }

func TestLongKilledWorker(t *testing.T) { promisedLoad.killedWorker(t) }

func TestLongKilledNode(t *testing.T) { promisedLoad.killedNode(t) }

func TestLongPackageAndDemoPageGoForwardsOnly(t *testing.T) {
	t.Parallel()
	runPageTests(t, 250)
}

func TestLongOwnActions(t *testing.T) {
	t.Parallel() // its only user mostly waits
	ownActions(t, 50_000)
}

func TestLongLiveCountsContinueWithoutRedis(t *testing.T) { liveOverRestarts(t, 16, 5) }

func TestLongEraseUnderLoad(t *testing.T) {
	t.Parallel()
	eraseUnderLoad(t, 100_000)
}
