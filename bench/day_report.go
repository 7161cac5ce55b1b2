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

// recorder records the durations and failures of users' actions. It is safe for
// concurrent use.
type recorder struct {
	mu            sync.Mutex
	byAction      map[string]*actionStats
	deliveryTimes *hdrhistogram.Histogram // delivery times of messages, in microseconds
	faults        []string                // the first maxRecordedFaults only
}

// actionStats holds the results of one kind of action.
type actionStats struct {
	failed  int
	latency *hdrhistogram.Histogram // microseconds
}

const (
	maxRecordedDuration = time.Minute // longer durations are recorded as this value
	maxRecordedFaults   = 10
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxRecordedDuration.Microseconds(), 3)
}

func recordDuration(in *hdrhistogram.Histogram, elapsed time.Duration) {
	_ = in.RecordValue(max(1, min(elapsed, maxRecordedDuration).Microseconds())) // the value is within bounds
}

func newRecorder() *recorder {
	return &recorder{byAction: map[string]*actionStats{}, deliveryTimes: newHistogram()}
}

func (d *recorder) record(what string, elapsed time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.byAction[what]
	if one == nil {
		one = &actionStats{latency: newHistogram()}
		d.byAction[what] = one
	}
	if err == nil {
		recordDuration(one.latency, elapsed)
		return
	}
	if one.failed++; len(d.faults) < maxRecordedFaults {
		d.faults = append(d.faults, err.Error())
	}
}

func (d *recorder) recordDelivery(after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	recordDuration(d.deliveryTimes, after)
}

func (d *recorder) failures() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.byAction {
		n += one.failed
	}
	return n
}

// drainAndCompare waits until Postgres contains the acknowledged actions and no others,
// and the queues are empty.
func (d *simulation) drainAndCompare(ctx context.Context) error {
	var difference error
	err := poll(ctx, backlogTimeout, "all acknowledged actions are persisted", func() (bool, error) {
		var err error
		if difference, err = d.compareDatabase(ctx); err != nil || difference != nil {
			return false, err
		}
		n, err := d.installation.countQueued()
		return n == 0, err
	})
	if err != nil && difference != nil {
		err = fmt.Errorf("%w: %w", err, difference)
	}
	return err
}

// compareDatabase compares Postgres with the acknowledged actions. The result difference
// is the first difference, or nil if there is none; err is not nil if Postgres cannot be
// read.
func (d *simulation) compareDatabase(ctx context.Context) (difference, err error) {
	for _, of := range []struct {
		what, query string
		marks       func(*simulatedUser) *userStates
	}{
		{"like", `SELECT user_id, biz_id FROM user_reaction WHERE biz = 'video' AND state = 1`, func(v *simulatedUser) *userStates { return &v.liked }},
		{"follow", `SELECT user_id, biz_id FROM user_follow WHERE biz = 'user' AND state = 1`, func(v *simulatedUser) *userStates { return &v.followed }},
	} {
		stored := map[stateKey]bool{}
		rows, err := d.installation.database.Query(ctx, of.query)
		if err == nil {
			var one stateKey
			_, err = pgx.ForEachRow(rows, []any{&one.user, &one.subject}, func() error { stored[one] = true; return nil })
		}
		if err != nil {
			return nil, fmt.Errorf("read each %s: %w", of.what, err)
		}
		for _, v := range d.users {
			if difference := of.marks(v).compareStored(v.name, stored); difference != nil {
				return fmt.Errorf("%s: %w", of.what, difference), nil
			}
		}
		for one := range stored {
			return fmt.Errorf("the %s of %s by %s was never sent", of.what, one.subject, one.user), nil
		}
	}
	for _, of := range []struct {
		what, query string
		tally       func(*simulatedUser) tally
	}{
		{"comments", `SELECT user_id, count(*) FROM comment GROUP BY user_id`, func(v *simulatedUser) tally { return v.commented }},
		{"messages", `SELECT CASE WHEN from_low THEN user_low ELSE user_high END, count(*) FROM message GROUP BY 1`, func(v *simulatedUser) tally { return v.sent }},
		{"videos", `SELECT user_id, count(*) FROM video GROUP BY user_id`, func(v *simulatedUser) tally { return v.uploaded }},
	} {
		stored := map[string]int{}
		rows, err := d.installation.database.Query(ctx, of.query)
		if err == nil {
			_, err = scanCounts(rows, stored)
		}
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", of.what, err)
		}
		for _, v := range d.users {
			if t, n := of.tally(v), stored[v.name]; n < t.acked || n > t.acked+t.failed {
				return fmt.Errorf("%d %s of %s are stored, but %d were acknowledged and %d failed", n, of.what, v.name, t.acked, t.failed), nil
			}
		}
	}
	return nil, nil
}

// compareStored compares the user's stored states with the acknowledged ones. It returns
// an error if a state differs and is not uncertain. Otherwise, it removes the user's
// acknowledged and uncertain states from stored; if any state of the user remains, it was
// never sent.
func (m *userStates) compareStored(user string, stored map[stateKey]bool) error {
	for subject, is := range m.acked {
		if stored[stateKey{user, subject}] != is && !m.uncertain[subject] {
			return fmt.Errorf("of %s by %s is %v, want %v as acknowledged", subject, user, !is, is)
		}
		delete(stored, stateKey{user, subject})
	}
	for subject := range m.uncertain {
		delete(stored, stateKey{user, subject})
	}
	return nil
}

// scanCounts reads rows that each contain a user and a count, and stores the counts in a
// map by user. It returns the sum of the counts.
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

// report returns the report of the run.
func (d *simulation) report(ctx context.Context) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# A day of the app\n\nWritten by `make load`. %d people for %.0f s over two nodes and two workers, on %s, seed %d.\n\n",
		d.userCount, d.elapsed.Seconds(), time.Now().UTC().Format(time.DateOnly), d.seed)
	seconds := d.elapsed.Seconds()
	for _, line := range d.describeMachine(ctx, series{d.cpuTimes[othersName].Seconds() / seconds}) {
		fmt.Fprintf(&out, "- %s\n", line)
	}
	out.WriteString("\n| action | times | a second | p50 ms | p99 ms | max ms | wrong |\n|---|---|---|---|---|---|---|\n")
	d.recorder.mu.Lock()
	defer d.recorder.mu.Unlock()
	total, wrong := int64(0), 0
	for _, what := range slices.Sorted(maps.Keys(d.recorder.byAction)) {
		one := d.recorder.byAction[what]
		total, wrong = total+one.latency.TotalCount(), wrong+one.failed
		fmt.Fprintf(&out, "| %s | %s | %.1f | %s | %d |\n", what, formatNumber(float64(one.latency.TotalCount()), 0), float64(one.latency.TotalCount())/seconds, formatQuantiles(one.latency), one.failed)
	}
	fmt.Fprintf(&out, "| all | %s | %.1f | | | | %d |\n", formatNumber(float64(total), 0), float64(total)/seconds, wrong)
	fmt.Fprintf(&out, "| delivery of a message to its receiver | %s | %.1f | %s | |\n\n",
		formatNumber(float64(d.recorder.deliveryTimes.TotalCount()), 0), float64(d.recorder.deliveryTimes.TotalCount())/seconds, formatQuantiles(d.recorder.deliveryTimes))
	videos := 0
	for _, v := range d.users {
		videos += v.uploaded.acked
	}
	fmt.Fprintf(&out, "- Clips of %d KB: %d published before the run, %d during it; %d had a cover when the load ended.\n", len(d.clip)>>10, initialVideos, videos-initialVideos, d.covers)
	out.WriteString("- Processors used:")
	for _, name := range slices.Sorted(maps.Keys(d.cpuTimes)) {
		if name != machineName {
			fmt.Fprintf(&out, " %s %.2f", name, d.cpuTimes[name].Seconds()/seconds)
		}
	}
	fmt.Fprintf(&out, ".\n- Every user received each message once. Every acknowledged action was in Postgres, and the queue empty, %.1f s after the load ended; `ovation verify` reported: %s\n",
		d.drainTime.Seconds(), strings.ReplaceAll(d.verifyOutput, "\n", "; "))
	return out.String()
}

func formatQuantiles(of *hdrhistogram.Histogram) string {
	at := func(percent float64) float64 { return float64(of.ValueAtQuantile(percent)) / 1e3 }
	return fmt.Sprintf("%.1f | %.1f | %.1f", at(50), at(99), float64(of.Max())/1e3)
}
