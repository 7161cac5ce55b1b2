package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestLikesAreSeenByOthers likes on one node and watches from another one,
// as somebody else, how long after its acknowledgement each like is counted.
func TestLikesAreSeenByOthers(t *testing.T) {
	t.Parallel()
	seenByOthers(t, 50, waitTimeout)
}

func seenByOthers(t *testing.T, likes int, bound time.Duration) {
	t.Helper()
	s := newSite(t)
	a, b := s.start(t, "serve"), s.start(t, "serve")
	s.start(t, "work")
	s.start(t, "work")
	watch := func(likes int) time.Duration {
		acknowledged := time.Now()
		for {
			var seen movieReply
			must(t, b.graphQL("", movieQuery, &seen))
			took := time.Since(acknowledged)
			if seen.Interactive.LikeCount == likes {
				return took
			}
			if took > waitTimeout {
				t.Fatalf("%v after %d likes were acknowledged others see %d, want all", took, likes, seen.Interactive.LikeCount)
			}
		}
	}
	took := make([]time.Duration, likes)
	pulse, disk := probeNode(t, b), probeDisk(t) // a like is seen once it is committed
	modestly := time.NewTicker(20 * time.Millisecond)
	defer modestly.Stop()
	for i := range took {
		<-modestly.C
		must(t, a.graphQL(fmt.Sprintf("user-%d", i), likeMovie, nil))
		took[i] = watch(i + 1)
	}
	pause := pulse.finish() + disk.finish()
	slices.Sort(took)
	p99 := took[likes*99/100]
	t.Logf("%d likes were seen by others after: p50 %v, p99 %v, max %v; the machine's own p99 is %v", likes, took[likes/2], p99, took[likes-1], pause)
	within(t, "p99", p99, pause, bound)
}
