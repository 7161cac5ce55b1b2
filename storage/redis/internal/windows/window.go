package windows

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// Reader reads windows: from Redis and, what that lacks, from the database,
// which it then fills in.
type Reader struct {
	Redis    *scripts.Runner
	Database interface {
		States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error)
		Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error)
	}
	Limit int           // states of a window
	Life  time.Duration // of a window since it was last written
	// ShownLife is that of a window which holds what is not committed.
	ShownLife time.Duration
	// Guard is how long nobody fills a window after a mark of what is absent.
	Guard time.Duration

	Glances glances
}

// windowRead is what is asked of one window, and what it answers.
type windowRead struct {
	mirror.WindowKey

	key    string
	asked  []int    // indices of the keys asked
	fields []string // of each of them in turn
	loaded bool
	full   bool   // what is absent is known to be none
	lease  string // empty: there is none

	malformed []string // names of entries that could not be decoded
}

// windowsOf groups keys by window. Most of what is asked together is of one.
func windowsOf(e keyspace.Epoch, keys []storage.StateKey) []*windowRead {
	var out []*windowRead
	for i := range keys {
		key := mirror.WindowKey{User: keys[i].User, Biz: keys[i].Subject.Biz}
		at := slices.IndexFunc(out, func(w *windowRead) bool { return w.WindowKey == key })
		if at < 0 {
			at = len(out)
			out = append(out, &windowRead{WindowKey: key, key: e.Window(key), asked: make([]int, 0, len(keys)-i)})
		}
		out[at].asked = append(out[at].asked, i)
	}
	for _, w := range out {
		w.fields = window.Fields(keys, w.asked)
	}
	return out
}

// Entries reads what Redis knows of states, always afresh, and the rest from
// the database. What neither can tell is left unknown. renew keeps alive what
// is read. fills are scripts that run along; where there are some, much is
// likely to be missing. No user is anonymous. Errors: storage.ErrUnavailable,
// where Redis is; the context's.
func (r *Reader) Entries(
	ctx context.Context, at keyspace.Epoch, keys []storage.StateKey, renew bool, fills []scripts.Call,
) ([]window.Entries, error) {
	out := make([]window.Entries, len(keys))
	windows := windowsOf(at, keys)
	if !renew && len(fills) == 0 {
		if err := r.readWindows(ctx, windows, out); err != nil {
			return nil, err
		}
		r.dropMalformed(ctx, windows)
		windows = lacking(windows, out)
	}
	if len(windows) > 0 {
		if err := r.lookInto(ctx, windows, out, renew, fills); err != nil {
			return nil, err
		}
		r.dropMalformed(ctx, windows)
		windows = lacking(windows, out)
	}
	if len(windows) > 0 {
		err := r.load(ctx, windows, keys, out)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			return nil, err
		}
		for _, w := range windows {
			if err != nil {
				w.makeDo(out)
			}
		}
	}
	return out, nil
}

// makeDo takes an old copy for what the database could not be asked, which is
// better than none. Entries that the database may have overtaken stay what
// they are, and are not known.
func (w *windowRead) makeDo(out []window.Entries) {
	if w.full {
		w.knowNone(out)
		return
	}
	for _, i := range w.asked {
		out[i].MakeDo(w.loaded)
	}
}

// lacking returns the windows that have to be loaded, or that lack some of
// what was asked.
func lacking(windows []*windowRead, out []window.Entries) (left []*windowRead) {
	for _, w := range windows {
		switch {
		case !w.loaded:
			left = append(left, w)
		case w.full:
			w.knowNone(out)
		case w.lacks(out):
			left = append(left, w)
		}
	}
	return left
}

func (w *windowRead) lacks(out []window.Entries) bool {
	return slices.ContainsFunc(w.asked, func(i int) bool { return !out[i].AllKnown() })
}

// knowNone makes everything that is absent known to be none.
func (w *windowRead) knowNone(out []window.Entries) {
	for _, i := range w.asked {
		out[i].KnowNone()
	}
}

// takeEntries reads the values of the fields of a window. An entry that cannot be
// decoded leaves its state unknown and the window not loaded.
func (r *Reader) takeEntries(w *windowRead, values []rueidis.RedisMessage, out []window.Entries) error {
	if len(values) != len(w.fields) {
		return errors.New("a window has not answered every field")
	}
	for i := range values {
		to := &out[w.asked[i]]
		*to = window.Entries{}
		if values[i].IsNil() {
			continue
		}
		value, err := values[i].ToString()
		if err != nil {
			return err
		}
		texts, whole := window.Split(value)
		if !whole {
			r.takeMalformed(w, i, window.Reaction, fmt.Errorf("%q is no value of a window", value)) // removes both entries
			continue
		}
		for k, text := range texts {
			if text == "" {
				continue
			}
			if to[k], err = window.Parse(text); err != nil {
				r.takeMalformed(w, i, k, err)
			}
		}
	}
	return nil
}

// takeMalformed notes that an entry of a field cannot be decoded.
func (r *Reader) takeMalformed(w *windowRead, field, kind int, err error) {
	r.Redis.Malformed.Found(w.key, err)
	w.malformed = append(w.malformed, window.Name(window.Kinds[kind], w.fields[field][1:]))
	w.loaded, w.full = false, false
}

// readWindows reads without writing.
func (r *Reader) readWindows(ctx context.Context, windows []*windowRead, out []window.Entries) error {
	return r.Redis.Do(ctx, "read states", func(ctx context.Context) error {
		commands := make([]rueidis.Completed, len(windows))
		for i, w := range windows {
			commands[i] = r.Redis.Client.B().Hmget().Key(w.key).Field("~b", "~f").Field(w.fields...).Build()
		}
		for i, reply := range r.Redis.Client.DoMulti(ctx, commands...) {
			values, err := reply.ToArray()
			if scripts.WrongType(err) {
				continue // the script that looks into what is not loaded replaces it
			}
			if err != nil {
				return err
			}
			w := windows[i]
			if len(values) < 2 {
				return errors.New("a window has not answered")
			}
			w.loaded = loadedWithin(&values[0], r.Life/2)
			w.full = !values[1].IsNil()
			if err := r.takeEntries(w, values[2:], out); err != nil {
				return err
			}
		}
		return nil
	})
}

// loadedWithin reports whether a window was loaded so lately, by its field ~b.
func loadedWithin(value *rueidis.RedisMessage, lasts time.Duration) bool {
	if value.IsNil() {
		return false
	}
	born, err := value.AsInt64()
	return err == nil && time.Since(time.Unix(born, 0)) < lasts
}

// lookInto reads by the script that gives leases, after it has run the fills.
func (r *Reader) lookInto(ctx context.Context, windows []*windowRead, out []window.Entries, renew bool, fills []scripts.Call) error {
	calls := append(make([]scripts.Call, 0, len(fills)+len(windows)), fills...)
	flag := "0"
	if renew {
		flag = scripts.Text(int64(math.Ceil(r.Guard.Seconds())))
	}
	for _, w := range windows {
		calls = append(calls, scripts.Look.On(w.key, nil, append([]string{
			rand.Text(), scripts.Spread(r.Life), scripts.Spread(r.ShownLife), flag, scripts.Text(int64(r.Life.Seconds() / 2)),
		}, w.fields...)...))
	}
	return r.Redis.RunAll(ctx, "look at states", calls, func(i int, m *rueidis.RedisMessage) error {
		if i < len(fills) {
			return nil
		}
		values, err := m.ToArray()
		if err != nil {
			return err
		}
		if len(values) < 3 {
			return errors.New("a window has not answered")
		}
		w := windows[i-len(fills)]
		w.loaded, w.full = !values[0].IsNil(), !values[1].IsNil()
		if w.lease, err = values[2].ToString(); err != nil {
			return err
		}
		return r.takeEntries(w, values[3:], out)
	})
}

// load reads from the database what the windows lack, and fills them.
func (r *Reader) load(ctx context.Context, windows []*windowRead, keys []storage.StateKey, out []window.Entries) error {
	contents, err := r.loadWindows(ctx, windows)
	if err != nil {
		return err
	}
	var missing []int // indices of keys
	for i, w := range windows {
		if !contents[i].Complete {
			missing = append(missing, w.asked...)
		}
	}
	found := make(map[int]storage.States, len(missing))
	if len(missing) > 0 {
		states, err := r.Database.States(ctx, pickKeys(keys, missing), window.KindSet)
		if err != nil {
			return err
		}
		for i, at := range missing {
			found[at] = states[i]
		}
	}
	var calls []scripts.Call
	for i, w := range windows {
		args := []string{w.lease, "entries", scripts.Spread(r.Life), scripts.Spread(r.ShownLife), scripts.Text(int64(r.Limit))}
		switch {
		case contents[i].Complete:
			args[1] = "all"
			for bizID, states := range contents[i].States {
				args = window.AppendFill(args, bizID, &states, false)
			}
		case !w.loaded:
			args[1] = "some"
		}
		for _, at := range w.asked {
			states, bizID := found[at], keys[at].Subject.BizID
			if contents[i].Complete {
				states = contents[i].States[bizID]
			} else {
				args = window.AppendFill(args, bizID, &states, true)
			}
			out[at].Learn(&states, w.lease != "")
		}
		if w.lease != "" {
			calls = append(calls, scripts.Fill.On(w.key, nil, args...))
		}
	}
	r.Redis.Fill(ctx, calls)
	return nil
}

// loadWindows reads everything of the windows that are not loaded. The answer
// has a place for each window.
func (r *Reader) loadWindows(ctx context.Context, windows []*windowRead) ([]mirror.Window, error) {
	out := make([]mirror.Window, len(windows))
	var keys []mirror.WindowKey
	var at []int
	for i, w := range windows {
		if !w.loaded {
			keys, at = append(keys, w.WindowKey), append(at, i)
		}
	}
	if len(keys) == 0 {
		return out, nil
	}
	found, err := r.Database.Windows(ctx, keys, r.Limit)
	if err != nil {
		return nil, err
	}
	for i := range found {
		out[at[i]] = found[i]
	}
	return out, nil
}

// dropMalformed removes the entries that could not be decoded, so that the
// windows are loaded again.
func (r *Reader) dropMalformed(ctx context.Context, windows []*windowRead) {
	life, shown := r.Lives()
	var calls []scripts.Call
	for _, w := range windows {
		if len(w.malformed) == 0 {
			continue
		}
		args := []string{life, shown, "0"}
		for _, field := range w.malformed {
			args = append(args, field, "-")
		}
		calls = append(calls, scripts.Forget.On(w.key, nil, args...))
		w.malformed = nil
	}
	if len(calls) > 0 {
		r.Redis.Fill(ctx, calls)
	}
}

// Close waits for what is under way.
func (r *Reader) Close() { r.Glances.close() }

// pickKeys returns the keys at the indices.
func pickKeys(list []storage.StateKey, at []int) []storage.StateKey {
	out := make([]storage.StateKey, len(at))
	for i, n := range at {
		out[i] = list[n]
	}
	return out
}

var errClosed = fmt.Errorf("%w: the store is closed", storage.ErrUnavailable)
