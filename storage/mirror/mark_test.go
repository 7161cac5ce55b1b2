package mirror_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
)

func TestMarkThatTakesTooLongIsNotCommitted(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		takes time.Duration
		fails error
		want  error
	}{
		"at once":                 {},
		"at the limit":            {takes: mirror.MarkTime},
		"after the limit":         {takes: mirror.MarkTime + time.Millisecond, want: storage.ErrUnavailable},
		"refused":                 {fails: broken, want: broken},
		"refused after the limit": {takes: time.Minute, fails: broken, want: broken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mark := func(_ context.Context, outcome storage.Outcome) error {
					if outcome.Epoch != 7 || !outcome.At.IsZero() {
						t.Errorf("the mark received %+v, want epoch 7 without a time", outcome)
					}
					time.Sleep(c.takes) // takes no real time in a bubble
					return c.fails
				}
				outcome := storage.Outcome{Epoch: 7}
				err := mirror.Mark(t.Context(), mark, &outcome)
				if !errors.Is(err, c.want) || err == nil && !outcome.At.Equal(time.Now()) {
					t.Errorf("Mark = %v, outcome %+v, want %v, and the present time if that is nil", err, outcome, c.want)
				}
			})
		})
	}
	var outcome storage.Outcome
	if err := mirror.Mark(t.Context(), nil, &outcome); err != nil || outcome.At.IsZero() {
		t.Errorf("Mark without a mark = %v, outcome %+v, want nil, and a time", err, outcome)
	}
}
