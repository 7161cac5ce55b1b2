package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/jackc/pgx/v5"
)

// recorder records the actions of visitors and their durations. It is safe for concurrent
// use.
type recorder struct {
	mu        sync.Mutex
	of        map[string]*entries
	delivered *hdrhistogram.Histogram // messages, in microseconds
	faults    []string                // the first ones
}

// entries are the records of one kind of action.
type entries struct {
	wrong int
	took  *hdrhistogram.Histogram // microseconds
}

const (
	maxRecordedDuration = time.Minute // longer durations are recorded as this one
	maxRecordedFaults   = 10
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxRecordedDuration.Microseconds(), 3)
}

func record(in *hdrhistogram.Histogram, took time.Duration) {
	_ = in.RecordValue(max(1, min(took, maxRecordedDuration).Microseconds())) // it is within bounds
}

func newRecorder() *recorder { return &recorder{of: map[string]*entries{}, delivered: newHistogram()} }

func (d *recorder) record(what string, took time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.of[what]
	if one == nil {
		one = &entries{took: newHistogram()}
		d.of[what] = one
	}
	if err == nil {
		record(one.took, took)
		return
	}
	if one.wrong++; len(d.faults) < maxRecordedFaults {
		d.faults = append(d.faults, err.Error())
	}
}

func (d *recorder) deliver(after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	record(d.delivered, after)
}

func (d *recorder) wrong() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.of {
		n += one.wrong
	}
	return n
}

// drainAndCompare waits until everything is persisted, and compares what Postgres holds
// with what was acknowledged.
func (d *day) drainAndCompare(ctx context.Context) error {
	var differs error
	err := until(ctx, backlogTime, "what was acknowledged is persisted", func() (bool, error) {
		var err error
		if differs, err = d.differs(ctx); err != nil || differs != nil {
			return false, err
		}
		n, err := d.site.waiting()
		return n == 0, err
	})
	if err != nil && differs != nil {
		err = fmt.Errorf("%w: %w", err, differs)
	}
	return err
}

// differs returns an error that describes what Postgres lacks or has in excess, or nil as
// differs if there is no difference.
func (d *day) differs(ctx context.Context) (differs, err error) {
	for _, of := range []struct {
		what, query string
		marks       func(*visitor) *marks
	}{
		{"like", `SELECT user_id, biz_id FROM user_reaction WHERE biz = 'video' AND state = 1`, func(v *visitor) *marks { return &v.liked }},
		{"follow", `SELECT user_id, biz_id FROM user_follow WHERE biz = 'user' AND state = 1`, func(v *visitor) *marks { return &v.followed }},
	} {
		stored := map[pair]bool{}
		rows, err := d.site.database.Query(ctx, of.query)
		if err == nil {
			var one pair
			_, err = pgx.ForEachRow(rows, []any{&one.user, &one.subject}, func() error { stored[one] = true; return nil })
		}
		if err != nil {
			return nil, fmt.Errorf("read each %s: %w", of.what, err)
		}
		for _, v := range d.visitors {
			if differs := of.marks(v).differ(v.name, stored); differs != nil {
				return fmt.Errorf("%s: %w", of.what, differs), nil
			}
		}
		for one := range stored {
			return fmt.Errorf("the %s of %s by %s was never sent", of.what, one.subject, one.user), nil
		}
	}
	for _, of := range []struct {
		what, query string
		tally       func(*visitor) tally
	}{
		{"comments", `SELECT user_id, count(*) FROM comment GROUP BY user_id`, func(v *visitor) tally { return v.commented }},
		{"messages", `SELECT CASE WHEN from_low THEN user_low ELSE user_high END, count(*) FROM message GROUP BY 1`, func(v *visitor) tally { return v.sent }},
		{"videos", `SELECT user_id, count(*) FROM video GROUP BY user_id`, func(v *visitor) tally { return v.uploaded }},
	} {
		stored := map[string]int{}
		rows, err := d.site.database.Query(ctx, of.query)
		if err == nil {
			_, err = scanCounts(rows, stored)
		}
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", of.what, err)
		}
		for _, v := range d.visitors {
			if t, n := of.tally(v), stored[v.name]; n < t.acked || n > t.acked+t.failed {
				return fmt.Errorf("there are %d %s of %s, %d were acknowledged and %d failed", n, of.what, v.name, t.acked, t.failed), nil
			}
		}
	}
	return nil, nil
}

// differ removes the user's marks from stored. It returns an error for a mark whose
// stored state differs from the acknowledged one.
func (m *marks) differ(user string, stored map[pair]bool) error {
	for subject, is := range m.is {
		if stored[pair{user, subject}] != is && !m.maybe[subject] {
			return fmt.Errorf("of %s by %s is %v, acknowledged was %v", subject, user, !is, is)
		}
		delete(stored, pair{user, subject})
	}
	for subject := range m.maybe {
		delete(stored, pair{user, subject})
	}
	return nil
}

// scanCounts reads numbers by user, and returns their sum.
func scanCounts(rows pgx.Rows, into map[string]int) (sum int, err error) {
	var user string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&user, &n}, func() error {
		into[user] = n
		sum += n
		return nil
	})
	return sum, err
}

// text returns the report.
func (d *day) text(ctx context.Context) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# A day of the app\n\nWritten by `make load`. %d people for %.0f s over two nodes and two workers, on %s, seed %d.\n\n",
		d.people, d.took.Seconds(), time.Now().UTC().Format(time.DateOnly), d.seed)
	seconds := d.took.Seconds()
	for _, line := range d.machine(ctx, series{d.spent[elsewhere].Seconds() / seconds}) {
		fmt.Fprintf(&out, "- %s\n", line)
	}
	out.WriteString("\n| action | times | a second | p50 ms | p99 ms | max ms | wrong |\n|---|---|---|---|---|---|---|\n")
	d.recorder.mu.Lock()
	defer d.recorder.mu.Unlock()
	total, wrong := int64(0), 0
	for _, what := range slices.Sorted(maps.Keys(d.recorder.of)) {
		one := d.recorder.of[what]
		total, wrong = total+one.took.TotalCount(), wrong+one.wrong
		fmt.Fprintf(&out, "| %s | %s | %.1f | %s | %d |\n", what, grouped(float64(one.took.TotalCount()), 0), float64(one.took.TotalCount())/seconds, quantiles(one.took), one.wrong)
	}
	fmt.Fprintf(&out, "| all | %s | %.1f | | | | %d |\n", grouped(float64(total), 0), float64(total)/seconds, wrong)
	fmt.Fprintf(&out, "| delivery of a message to its receiver | %s | %.1f | %s | |\n\n",
		grouped(float64(d.recorder.delivered.TotalCount()), 0), float64(d.recorder.delivered.TotalCount())/seconds, quantiles(d.recorder.delivered))
	videos := 0
	for _, v := range d.visitors {
		videos += v.uploaded.acked
	}
	fmt.Fprintf(&out, "- Clips of %d KB: %d published before the run, %d during it; %d had a cover when the load ended.\n", len(d.clip)>>10, dayClips, videos-dayClips, d.covers)
	out.WriteString("- Processors used:")
	for _, name := range slices.Sorted(maps.Keys(d.spent)) {
		if name != whole {
			fmt.Fprintf(&out, " %s %.2f", name, d.spent[name].Seconds()/seconds)
		}
	}
	fmt.Fprintf(&out, ".\n- Every user received each message once. Every acknowledged action was in Postgres, and the queue empty, %.1f s after the load ended; `ovation verify` reported: %s\n",
		d.settled.Seconds(), strings.ReplaceAll(d.checked, "\n", "; "))
	return out.String()
}

func quantiles(of *hdrhistogram.Histogram) string {
	at := func(percent float64) float64 { return float64(of.ValueAtQuantile(percent)) / 1e3 }
	return fmt.Sprintf("%.1f | %.1f | %.1f", at(50), at(99), float64(of.Max())/1e3)
}
