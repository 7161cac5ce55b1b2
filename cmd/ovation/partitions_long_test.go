//go:build long

package main

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"ovation/cmd/ovation/internal/balance"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// fleet consists of two nodes behind a balancer and of two workers.
type fleet struct {
	site           *site
	balancer       *balance.Balancer
	through        *server
	nodes, workers [2]*server
}

// newFleet starts a fleet with the given number of partitions.
func newFleet(t *testing.T, partitions int) *fleet {
	t.Helper()
	f := &fleet{site: newSite(t), balancer: balance.New(slog.New(slog.DiscardHandler))}
	f.site.variables["OVATION_DRAIN"] = balancerDrain.String()
	f.site.variables["OVATION_PARTITIONS"] = strconv.Itoa(partitions)
	front := httptest.NewServer(f.balancer)
	t.Cleanup(func() {
		front.Close()
		f.balancer.Close()
	})
	f.through = &server{url: front.URL, as: as}
	for i := range f.nodes {
		f.workers[i] = f.site.start(t, "work")
		f.startNode(t, i)
	}
	return f
}

func (f *fleet) startNode(t *testing.T, i int) {
	t.Helper()
	f.nodes[i] = f.site.start(t, "serve")
	must.Succeed(t, f.balancer.Add(f.nodes[i].url))
	await.That(t, "the balancer knows the new node", func() bool { return f.balancer.Ready() > i })
}

// repartition changes the number of partitions as docs/operations.md describes.
func (f *fleet) repartition(t *testing.T, from, to int) {
	t.Helper()
	f.site.run(t, "partitions", strconv.Itoa(to)).want(t, 0, fmt.Sprintf("There are %d partitions now", to))
	f.site.run(t, "work", "--addr=127.0.0.1:0").want(t, exitFailed, fmt.Sprintf("use %d, or change the number with ovation partitions %d", to, from))
	f.site.variables["OVATION_PARTITIONS"] = strconv.Itoa(to)
	for i := range f.workers {
		f.workers[i].stop().want(t, 0)
		f.workers[i] = f.site.start(t, "work")
	}
	for i := range f.nodes {
		f.nodes[i].stop().want(t, 0)
		f.startNode(t, i)
		await.That(t, "the balancer knows both nodes", func() bool { return f.balancer.Ready() == len(f.nodes) })
	}
	f.site.run(t, "partitions", strconv.Itoa(to)).want(t, 0, fmt.Sprintf("There are %d partitions already", to))
}

// liker is a user who likes one video after another and, after each like, sends a read of
// one and the same film. A like that fails with UNAVAILABLE is sent again, because it
// counts only once. A read that fails with UNAVAILABLE is not sent again, because it
// could then count twice; unknown counts such reads.
type liker struct {
	name           string
	likes          int
	reads, unknown int64
}

func (f *liker) act(through *server) error {
	like := fmt.Sprintf(`mutation { like(input: {biz: "video", bizId: "%d"}) { durability } }`, f.likes)
	for {
		err := through.graphQL(f.name, like, nil)
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "UNAVAILABLE") {
			return err
		}
	}
	f.likes++
	err := through.graphQL(f.name, `mutation { read(input: {biz: "video", bizId: "film"}) { durability } }`, nil)
	switch {
	case err == nil:
		f.reads++
	case strings.Contains(err.Error(), "UNAVAILABLE"):
		f.unknown++
	default:
		return err
	}
	return nil
}

// likeDuring makes users act until the function during has returned, and returns the
// users.
func likeDuring(t *testing.T, through *server, during func()) []*liker {
	t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	done := make(chan struct{})
	defer close(done)
	fans := make([]*liker, 24)
	for i := range fans {
		f := &liker{name: fmt.Sprintf("fan-%d", i)}
		fans[i] = f
		all.Go(func() {
			for !isClosed(done) {
				if err := f.act(through); err != nil {
					t.Errorf("%s: %v", f.name, err)
					return
				}
			}
		})
	}
	during()
	return fans
}

// TestLongPartitionsChangeUnderLoad changes the number of partitions while users act.
// Requests may fail only with UNAVAILABLE, and every acknowledged action must be stored
// exactly once. That includes reads, of which a second copy would be counted.
func TestLongPartitionsChangeUnderLoad(t *testing.T) {
	f := newFleet(t, 8)
	fans := likeDuring(t, f.through, func() {
		f.repartition(t, 8, 12)
		f.repartition(t, 12, 4)
	})
	var likes int
	var reads, unknown int64
	for _, liker := range fans {
		likes, reads, unknown = likes+liker.likes, reads+liker.reads, unknown+liker.unknown
	}
	t.Logf("%d likes, %d reads, %d reads with an unknown result", likes, reads, unknown)
	await.That(t, "every like is stored", func() bool { return f.site.likes(t) >= likes })
	await.That(t, "every read is stored", func() bool { return f.site.reads(t, "film") >= reads })
	if n := f.site.likes(t); n > likes+len(fans) { // each user may have one like in progress
		t.Errorf("%d likes are stored, want %d to %d", n, likes, likes+len(fans))
	}
	if n := f.site.reads(t, "film"); n > reads+unknown {
		t.Errorf("%d reads are stored, want %d to %d", n, reads, reads+unknown)
	}
	stored := f.site.stored(t)
	for _, liker := range fans {
		for i := range liker.likes {
			if !stored[liker.name][strconv.Itoa(i)].liked {
				t.Errorf("like %d of %s was acknowledged and is not stored", i, liker.name)
			}
		}
	}
	f.site.run(t, "verify").want(t, 0, "0 differences; ", "0 differences in Redis; ")
}

// reads returns the number of reads of a subject in the database.
func (s *site) reads(t *testing.T, subject string) (n int64) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.variables["OVATION_POSTGRES_URL"])
	must.Succeed(t, err)
	defer c.Close(t.Context())
	must.Succeed(t, c.QueryRow(t.Context(), "SELECT coalesce(sum(read_count), 0) FROM interactive WHERE biz_id = $1", subject).Scan(&n))
	return n
}
