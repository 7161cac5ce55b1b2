package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// TestLikesAreSeenByOthersSoon likes on one node and watches from another one,
// as somebody else, how long after its acknowledgement each like is counted.
func TestLikesAreSeenByOthersSoon(t *testing.T) {
	likes, bound := 200, 2*time.Second // on a busy machine
	if os.Getenv("OVATION_LOAD") == "full" {
		likes, bound = 2000, 100*time.Millisecond
	}
	s := newSite(t)
	a, b := s.start(t, "serve"), s.start(t, "serve")
	s.start(t, "work")
	s.start(t, "work")
	watch := func(likes int) time.Duration {
		acknowledged := time.Now()
		for {
			var seen seeing
			must(t, b.graphQL("", seeMovie, &seen))
			took := time.Since(acknowledged)
			if seen.Interactive.LikeCount == likes {
				return took
			}
			if took > patience {
				t.Fatalf("%d likes are acknowledged and %d seen by others", likes, seen.Interactive.LikeCount)
			}
		}
	}
	took := make([]time.Duration, likes)
	modestly := time.NewTicker(20 * time.Millisecond)
	defer modestly.Stop()
	for i := range took {
		<-modestly.C
		must(t, a.graphQL(fmt.Sprintf("user-%d", i), likeMovie, nil))
		took[i] = watch(i + 1)
	}
	slices.Sort(took)
	p99 := took[likes*99/100]
	t.Logf("%d likes were seen by others after: p50 %v, p99 %v, max %v", likes, took[likes/2], p99, took[likes-1])
	if p99 > bound {
		t.Errorf("p99 is over %v", bound)
	}
}
