package transport

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestUnusedNamesAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics(prometheus.NewRegistry())
		label := m.label
		label("Feed")
		for i := range maxOperations {
			label(fmt.Sprint("Q", i))
		}
		if got := label("Late"); got != other {
			t.Errorf("a name beyond the maximum: got %q, want %q", got, other)
		}
		time.Sleep(nameTTL / 2)
		label("Feed")
		time.Sleep(nameTTL / 2)
		if got := label("Late"); got != "Late" {
			t.Errorf("a name that replaces an unused one: got %q, want Late", got)
		}
		if got := label("Feed"); got != "Feed" {
			t.Errorf("a name in use: got %q, want Feed", got)
		}
		if n := m.names.Len(); n != maxOperations {
			t.Errorf("got %d names in the metrics, want %d", n, maxOperations)
		}
	})
}
