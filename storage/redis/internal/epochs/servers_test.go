package epochs

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestGapsOfAClusterAreFound(t *testing.T) {
	master := func(view string, slots string) serverInfo {
		line := "f00 127.0.0.1:1@2,host myself,master - 0 0 1 connected " + slots + "\n"
		return serverInfo{clusterEpoch: view, slots: slotsOf("cluster_state:ok\r\nother 127.0.0.1:3@4 master - 0 0 2 connected 0-16383\n" + line)}
	}
	for name, c := range map[string]struct {
		masters []serverInfo
		says    string
	}{
		"whole":            {[]serverInfo{master("7", "0-99 200 [93-<-abc]"), master("7", "100-199 201-16383")}, ""},
		"one is missing":   {[]serverInfo{master("7", "0-99")}, "serve 100 of its 16384 slots"},
		"two serve a slot": {[]serverInfo{master("7", "0-99"), master("7", "99-16383")}, "2 masters of the cluster report to serve slot 99"},
		"a failover":       {[]serverInfo{master("7", "0-99"), master("8", "100-16383")}, "disagree on its epoch"},
	} {
		t.Run(name, func(t *testing.T) {
			err := coverageGap(c.masters)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("coverageGap = %v, want an error that contains %q, or none if that is empty", err, c.says)
			}
		})
	}
}

func TestEvictionsAreLoggedOnceEachTimeTheyBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		var e evictions
		logger, one := slog.New(slog.NewTextHandler(&text, nil)), serverInfo{runID: "a", policy: "allkeys-lru"}
		poll := func(times int, evicts bool) {
			t.Helper()
			for range times {
				if evicts {
					one.evicted++
				}
				if got := e.record([]serverInfo{one}, logger); got != evicts {
					t.Errorf("record = %t, want %t", got, evicts)
				}
				time.Sleep(PollInterval)
			}
		}
		poll(1, false)
		for range 2 {
			poll(10, true)
			poll(20, false)
		}
		if begun, ended := strings.Count(text.String(), "Redis evicts"), strings.Count(text.String(), "Redis has stopped evicting"); begun != 2 || ended != 2 {
			t.Errorf("the log says %d times that evictions begin and %d times that they end, want 2 each:\n%s", begun, ended, text.String())
		}
	})
}
