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
			t.Errorf("with all places taken a name is %q", got)
		}
		time.Sleep(nameTTL / 2)
		label("Feed")
		time.Sleep(nameTTL / 2)
		if got := label("Late"); got != "Late" {
			t.Errorf("with unused names to replace, the label is %q", got)
		}
		if got := label("Feed"); got != "Feed" {
			t.Errorf("a name in use is %q", got)
		}
		if n := m.names.Len(); n != maxOperations {
			t.Errorf("%d names are in the metrics", n)
		}
	})
}
