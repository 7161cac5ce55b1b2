//go:build long

package redis

import (
	"testing"

	"ovation/storage/storagetest"
)

// The tests below repeat the everyday tests with new seeds and more cases.

func TestLongStore(t *testing.T) { runSuite(t, startServer(t).url(), storagetest.RunOnce) }

func TestLongStoreOverPostgres(t *testing.T) { storeOverPostgres(t, storagetest.RunOnce) }

func TestLongStoreOverACluster(t *testing.T) {
	url, _ := startCluster(t)
	runSuite(t, url, storagetest.RunOnce)
}

func TestLongReactionsMergeInAnyOrder(t *testing.T) { TestReactionsMergeInAnyOrder(t) }
