package outage_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ovation/internal/outage"
)

// logged runs f with a fake clock and returns the lines that f has logged.
func logged(t *testing.T, f func(*outage.Log)) (lines []string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		var text strings.Builder
		f(outage.New(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		})), "no shoes", "shoes again"))
		lines = strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	})
	return lines
}

func want(t *testing.T, got []string, lines ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(lines, "\n") {
		t.Errorf("got the log\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func TestFirstFailureIsLoggedAndThenCounts(t *testing.T) {
	got := logged(t, func(l *outage.Log) {
		for range 2_500 { // 25 seconds
			l.Failed("error", errors.New("sold out"))
			time.Sleep(10 * time.Millisecond)
		}
	})
	want(t, got,
		`level=WARN msg="no shoes" error="sold out"`,
		`level=WARN msg="no shoes" error="sold out" times=1000`,
		`level=WARN msg="no shoes" error="sold out" times=1000`)
}

func TestEndIsLoggedOnce(t *testing.T) {
	got := logged(t, func(l *outage.Log) {
		l.Worked()
		for range 3 {
			l.Failed()
			time.Sleep(time.Second)
		}
		for range 1000 {
			l.Worked()
			time.Sleep(10 * time.Millisecond)
		}
		l.Failed("size", 42)
	})
	want(t, got,
		`level=WARN msg="no shoes"`,
		`level=INFO msg="shoes again" times=3 lasted_ms=2000`,
		`level=WARN msg="no shoes" size=42`)
}

func TestFlappingIsOneOutage(t *testing.T) {
	got := logged(t, func(l *outage.Log) {
		for range 200 {
			l.Failed()
			l.Worked()
			time.Sleep(100 * time.Millisecond)
			l.Worked()
		}
		time.Sleep(5 * time.Second)
		l.Worked()
	})
	want(t, got,
		`level=WARN msg="no shoes"`,
		`level=WARN msg="no shoes" times=100`,
		`level=INFO msg="shoes again" times=200 lasted_ms=19900`)
}
