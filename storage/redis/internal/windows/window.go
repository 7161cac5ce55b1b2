package windows

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// Reader reads windows from Redis. Missing entries are read from the database and written
// to Redis.
type Reader struct {
	Redis    *scripts.Runner
	Database interface {
		States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error)
		Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error)
	}
	Limit int           // a window with more states is never loaded as a whole
	TTL   time.Duration // life of a window since it was last written or renewed
	// QueuedTTL is the life of a window with queued entries.
	QueuedTTL time.Duration
	// Guard is how long fills of a window are blocked after a transaction has invalidated
	// entries in the window or marked entries that the window lacks.
	Guard time.Duration

	gets getBatcher
	free sync.Pool // of []window.Entries, cleared
}

// Request is a read of entries of one window, with its result.
type Request struct {
	mirror.WindowKey

	key      string
	indices  []int    // of the keys, in the caller's order
	fields   []string // names of the fields of these keys
	out      []window.Entries
	loaded   bool
	complete bool   // absent entries are known to be unset
	lease    string // empty if none was granted

	malformed []string // names of entries that could not be decoded

	// Used by GetBatched only.
	err  error
	done chan struct{} // has a buffer of one
}

// requestsOf groups keys by window. Each request stores its results in out, at the indices
// of its keys. Most calls read a single window.
func requestsOf(e keyspace.Epoch, keys []storage.StateKey, out []window.Entries) []*Request {
	var windows []*Request
	for i := range keys {
		key := mirror.WindowKey{User: keys[i].User, Biz: keys[i].Subject.Biz}
		at := slices.IndexFunc(windows, func(w *Request) bool { return w.WindowKey == key })
		if at < 0 {
			at = len(windows)
			windows = append(windows, &Request{WindowKey: key, key: e.Window(key), indices: make([]int, 0, len(keys)-i), out: out})
		}
		windows[at].indices = append(windows[at].indices, i)
	}
	for _, w := range windows {
		w.fields = window.Fields(keys, w.indices)
	}
	return windows
}

// Entries reads entries from Redis, never from a cache. Missing entries are read from the
// database, and are unknown if the database is unavailable. If renew is true, the life of
// the entries is extended. The parameter fills holds calls to run along with the read. If
// there are any, entries are likely to be missing as well, so the read asks for a lease
// at once. No user in keys may be anonymous. Errors: storage.ErrUnavailable if Redis is
// unavailable; the context's error.
func (r *Reader) Entries(
	ctx context.Context, at keyspace.Epoch, keys []storage.StateKey, renew bool, fills []scripts.Call,
) ([]window.Entries, error) {
	out := r.newEntries(len(keys))
	windows := requestsOf(at, keys, out)
	if !renew && len(fills) == 0 {
		if err := r.ReadAll(ctx, "read states", windows); err != nil {
			return nil, err
		}
		windows = r.incomplete(ctx, windows)
	}
	if len(windows) > 0 {
		if err := r.readWithLease(ctx, windows, renew, fills); err != nil {
			return nil, err
		}
		windows = r.incomplete(ctx, windows)
	}
	if len(windows) > 0 {
		err := r.load(ctx, windows, keys, out)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			return nil, err
		}
		for _, w := range windows {
			if err != nil {
				w.acceptStale()
			}
		}
	}
	return out, nil
}

// newEntries returns n zero Entries.
func (r *Reader) newEntries(n int) []window.Entries {
	if free, ok := r.free.Get().(*[]window.Entries); ok && cap(*free) >= n {
		return (*free)[:n]
	}
	return make([]window.Entries, n)
}

// Recycle keeps a result of Entries for reuse, since it is the largest allocation of a
// page. The caller must not use entries afterwards.
func (r *Reader) Recycle(entries []window.Entries) {
	if 0 < cap(entries) && cap(entries) <= maxRecycled {
		clear(entries) // so that no viewer is shown another viewer's states
		r.free.Put(&entries)
	}
}

// maxRecycled is the number of subjects on the largest page, including the authors.
const maxRecycled = 200

// acceptStale uses the entries in Redis although the database is unavailable. Entries for
// which the database may have newer states become unknown.
func (w *Request) acceptStale() {
	if w.complete {
		w.setNone()
		return
	}
	for _, i := range w.indices {
		w.out[i].AcceptStale(w.loaded)
	}
}

// incomplete removes malformed entries, and returns the requests whose windows must be
// loaded or lack some of the entries. In complete windows, it marks absent entries as
// known to be unset.
func (r *Reader) incomplete(ctx context.Context, windows []*Request) (left []*Request) {
	r.dropMalformed(ctx, windows)
	for _, w := range windows {
		switch {
		case !w.loaded:
			left = append(left, w)
		case w.complete:
			w.setNone()
		case slices.ContainsFunc(w.indices, func(i int) bool { return !w.out[i].AllKnown() }):
			left = append(left, w)
		}
	}
	return left
}

// setNone marks the unknown entries as known to have no state, because their states were
// never set in the database.
func (w *Request) setNone() {
	for _, i := range w.indices {
		w.out[i].SetNone()
	}
}

// decodeWindow decodes the fields of a window: ~b (when it was loaded), ~f (whether it is
// complete) and the fields that hold entries.
func (r *Reader) decodeWindow(w *Request, values []rueidis.RedisMessage) error {
	if len(values) < 2 {
		return errors.New("reply for a window is too short")
	}
	w.loaded, w.complete = loadedWithin(&values[0], r.TTL/2), !values[1].IsNil()
	return r.decodeFields(w, values[2:])
}

// decodeFields decodes the values of the fields of a window. An entry that cannot be
// decoded is unknown, and its window counts as not loaded.
func (r *Reader) decodeFields(w *Request, values []rueidis.RedisMessage) error {
	if len(values) != len(w.fields) {
		return errors.New("reply for a window lacks fields")
	}
	for i := range values {
		to := &w.out[w.indices[i]]
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
			r.recordMalformed(w, i, window.Reaction, fmt.Errorf("%q is not a value of a window", value)) // removes all entries of the field
			continue
		}
		for k, text := range texts {
			if text == "" {
				continue
			}
			if to[k], err = window.Parse(text); err != nil {
				r.recordMalformed(w, i, k, err)
			}
		}
	}
	return nil
}

// recordMalformed records that an entry of a field cannot be decoded.
func (r *Reader) recordMalformed(w *Request, field, kind int, err error) {
	r.Redis.Malformed.Record(w.key, err)
	w.malformed = append(w.malformed, window.Name(window.Kinds[kind], w.fields[field][1:]))
	w.loaded, w.complete = false, false
}

// ReadAll reads windows in one pipeline, without writing. Errors: storage.ErrUnavailable,
// the context's error.
func (r *Reader) ReadAll(ctx context.Context, what string, windows []*Request) error {
	return r.Redis.Do(ctx, what, func(ctx context.Context) error {
		commands := make([]rueidis.Completed, len(windows))
		for i, w := range windows {
			commands[i] = r.Redis.Client.B().Hmget().Key(w.key).Field("~b", "~f").Field(w.fields...).Build()
		}
		for i, reply := range r.Redis.Client.DoMulti(ctx, commands...) {
			values, err := reply.ToArray()
			if scripts.WrongType(err) {
				continue // the window counts as not loaded, and readWithLease replaces the key
			}
			if err != nil {
				return err
			}
			if err := r.decodeWindow(windows[i], values); err != nil {
				return err
			}
		}
		return nil
	})
}

// loadedWithin reports whether a window was loaded less than the given duration ago.
// value is the value of the field ~b of the window.
func loadedWithin(value *rueidis.RedisMessage, lasts time.Duration) bool {
	if value.IsNil() {
		return false
	}
	born, err := value.AsInt64()
	return err == nil && time.Since(time.Unix(born, 0)) < lasts
}

// readWithLease runs the fills, and then the script that reads entries and grants leases.
func (r *Reader) readWithLease(ctx context.Context, windows []*Request, renew bool, fills []scripts.Call) error {
	calls := append(make([]scripts.Call, 0, len(fills)+len(windows)), fills...)
	flag := "0"
	if renew {
		flag = scripts.Text(int64(math.Ceil(r.Guard.Seconds())))
	}
	for _, w := range windows {
		calls = append(calls, scripts.Read.On(w.key, nil, append([]string{
			rand.Text(), scripts.Jitter(r.TTL), scripts.Jitter(r.QueuedTTL), flag, scripts.Text(int64(r.TTL.Seconds() / 2)),
		}, w.fields...)...))
	}
	return r.Redis.RunAll(ctx, "read states", calls, func(i int, m *rueidis.RedisMessage) error {
		if i < len(fills) {
			return nil
		}
		values, err := m.ToArray()
		if err != nil {
			return err
		}
		if len(values) < 3 {
			return errors.New("reply for a window is too short")
		}
		w := windows[i-len(fills)]
		w.loaded, w.complete = !values[0].IsNil(), !values[1].IsNil()
		if w.lease, err = values[2].ToString(); err != nil {
			return err
		}
		return r.decodeFields(w, values[3:])
	})
}

// load reads missing entries from the database and fills the windows.
func (r *Reader) load(ctx context.Context, windows []*Request, keys []storage.StateKey, out []window.Entries) error {
	contents, err := r.loadWindows(ctx, windows)
	if err != nil {
		return err
	}
	var missing []int // indices of keys
	for i, w := range windows {
		if !contents[i].Complete {
			missing = append(missing, w.indices...)
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
		args := []string{w.lease, "entries", scripts.Jitter(r.TTL), scripts.Jitter(r.QueuedTTL), scripts.Text(int64(r.Limit))}
		switch {
		case contents[i].Complete:
			args[1] = "all"
			for bizID, states := range contents[i].States {
				args = window.AppendFill(args, bizID, &states, false)
			}
		case !w.loaded:
			args[1] = "some"
		}
		for _, at := range w.indices {
			states, bizID := found[at], keys[at].Subject.BizID
			if contents[i].Complete {
				states = contents[i].States[bizID]
			} else {
				args = window.AppendFill(args, bizID, &states, true)
			}
			out[at].MergeStates(&states, w.lease != "")
		}
		if w.lease != "" {
			calls = append(calls, scripts.Fill.On(w.key, nil, args...))
		}
	}
	r.Redis.RunBestEffort(ctx, calls)
	return nil
}

// loadWindows reads, from the database, the windows that are not loaded. The result has
// an element for each request.
func (r *Reader) loadWindows(ctx context.Context, windows []*Request) ([]mirror.Window, error) {
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

// dropMalformed removes the entries that could not be decoded, so that the windows are
// loaded again.
func (r *Reader) dropMalformed(ctx context.Context, windows []*Request) {
	life, shown := r.TTLs()
	var calls []scripts.Call
	for _, w := range windows {
		if len(w.malformed) == 0 {
			continue
		}
		args := []string{life, shown, "0"}
		for _, field := range w.malformed {
			args = append(args, field, "-")
		}
		calls = append(calls, scripts.Invalidate.On(w.key, nil, args...))
		w.malformed = nil
	}
	if len(calls) > 0 {
		r.Redis.RunBestEffort(ctx, calls)
	}
}

// pickKeys returns the keys at the indices.
func pickKeys(list []storage.StateKey, at []int) []storage.StateKey {
	out := make([]storage.StateKey, len(at))
	for i, n := range at {
		out[i] = list[n]
	}
	return out
}

var errClosed = fmt.Errorf("%w: the store is closed", storage.ErrUnavailable)
