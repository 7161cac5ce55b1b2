package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/mirror"
)

const windowStates = storage.Kinds(1<<storage.KindReaction | 1<<storage.KindCollection)

// window is what is asked of one window, and what it answers.
type window struct {
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
func (e *epoch) windowsOf(keys []storage.StateKey) []*window {
	var out []*window
	for i := range keys {
		key := mirror.WindowKey{User: keys[i].User, Biz: keys[i].Subject.Biz}
		at := slices.IndexFunc(out, func(w *window) bool { return w.WindowKey == key })
		if at < 0 {
			at = len(out)
			out = append(out, &window{WindowKey: key, key: e.keys.Window(key), asked: make([]int, 0, len(keys)-i)})
		}
		out[at].asked = append(out[at].asked, i)
	}
	for _, w := range out {
		w.fields = fieldsOf(keys, w.asked)
	}
	return out
}

// fieldsOf names the fields of the keys asked. All names are parts of one text.
func fieldsOf(keys []storage.StateKey, asked []int) []string {
	size := 0
	for _, i := range asked {
		size += len(fieldName(keys[i].Subject.BizID))
	}
	var all strings.Builder
	all.Grow(size)
	for _, i := range asked {
		all.WriteString(fieldName(keys[i].Subject.BizID))
	}
	text := all.String()
	out := make([]string, len(asked))
	for k, i := range asked {
		n := len(fieldName(keys[i].Subject.BizID))
		out[k], text = text[:n], text[n:]
	}
	return out
}

// entries reads what Redis knows of states, always afresh, and the rest from
// the database. What neither can tell is left unknown. renew keeps alive what
// is read. fills are scripts that run along; where there are some, much is
// likely to be missing. No user is anonymous. Errors: storage.ErrUnavailable,
// where Redis is; the context's.
func (s *Store) entries(
	ctx context.Context, at *epoch, keys []storage.StateKey, renew bool, fills []call,
) ([]entries, error) {
	out, overlay := make([]entries, len(keys)), s.unshown.over(keys)
	windows := at.windowsOf(keys)
	if !renew && len(fills) == 0 {
		if err := s.readWindows(ctx, windows, out); err != nil {
			return nil, err
		}
		s.dropMalformed(ctx, windows)
		windows = lacking(windows, out)
	}
	if len(windows) > 0 {
		if err := s.lookInto(ctx, windows, out, renew, fills); err != nil {
			return nil, err
		}
		s.dropMalformed(ctx, windows)
		windows = lacking(windows, out)
	}
	if len(windows) > 0 {
		err := s.load(ctx, windows, keys, out)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			return nil, err
		}
		for _, w := range windows {
			if err != nil {
				w.makeDo(out)
			}
		}
	}
	if overlay != nil {
		for i := range out {
			overlay.lay(keys[i], &out[i])
		}
	}
	return out, nil
}

// makeDo takes an old copy for what the database could not be asked, which is
// better than none. Entries that the database may have overtaken stay what
// they are, and are not known.
func (w *window) makeDo(out []entries) {
	if w.full {
		w.knowNone(out)
		return
	}
	for _, i := range w.asked {
		for kind := range windowKinds {
			e := &out[i][kind]
			e.known = e.known && (w.loaded || len(e.history) > 0)
		}
	}
}

// lacking returns the windows that have to be loaded, or that lack some of
// what was asked.
func lacking(windows []*window, out []entries) (left []*window) {
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

func (w *window) lacks(out []entries) bool {
	for _, i := range w.asked {
		for kind := range windowKinds {
			if !out[i][kind].known {
				return true
			}
		}
	}
	return false
}

// knowNone makes everything that is absent known to be none.
func (w *window) knowNone(out []entries) {
	for _, i := range w.asked {
		for kind := range windowKinds {
			if e := &out[i][kind]; !e.known {
				e.merge(&knownNone, kind)
				e.known, e.history = true, knownNone.history
			}
		}
	}
}

// takeEntries reads the values of the fields of a window. An entry that cannot be
// decoded leaves its state unknown and the window not loaded.
func (s *Store) takeEntries(w *window, values []rueidis.RedisMessage, out []entries) error {
	if len(values) != len(w.fields) {
		return errors.New("a window has not answered every field")
	}
	for i := range values {
		to := &out[w.asked[i]]
		*to = entries{}
		if values[i].IsNil() {
			continue
		}
		value, err := values[i].ToString()
		if err != nil {
			return err
		}
		for k, text := range split(value) {
			if text == "" {
				continue
			}
			if to[k], err = parseEntry(text); err != nil {
				s.malformed.found(w.key, err)
				w.malformed = append(w.malformed, entryName(windowKinds[k], w.fields[i][1:]))
				w.loaded, w.full = false, false
				break // the script looks at the other one
			}
		}
	}
	return nil
}

// readWindows reads without writing.
func (s *Store) readWindows(ctx context.Context, windows []*window, out []entries) error {
	return s.inRedis(ctx, "read states", func(ctx context.Context) error {
		commands := make([]rueidis.Completed, len(windows))
		for i, w := range windows {
			commands[i] = s.client.B().Hmget().Key(w.key).Field("~b", "~f").Field(w.fields...).Build()
		}
		for i, reply := range s.client.DoMulti(ctx, commands...) {
			values, err := reply.ToArray()
			if wrongType(err) {
				continue // the script that looks into what is not loaded replaces it
			}
			if err != nil {
				return err
			}
			w := windows[i]
			if len(values) < 2 {
				return errors.New("a window has not answered")
			}
			w.loaded = loadedWithin(&values[0], s.opts.Life/2)
			w.full = !values[1].IsNil()
			if err := s.takeEntries(w, values[2:], out); err != nil {
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
func (s *Store) lookInto(ctx context.Context, windows []*window, out []entries, renew bool, fills []call) error {
	calls := append(make([]call, 0, len(fills)+len(windows)), fills...)
	flag := "0"
	if renew {
		flag = text(int64(math.Ceil(s.opts.Guard.Seconds())))
	}
	for _, w := range windows {
		calls = append(calls, call{lookScript, w.key, nil, append([]string{
			rand.Text(), spread(s.opts.Life), spread(s.opts.ShownLife), flag, text(int64(s.opts.Life.Seconds() / 2)),
		}, w.fields...)})
	}
	return s.runAll(ctx, "look at states", calls, func(i int, m *rueidis.RedisMessage) error {
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
		return s.takeEntries(w, values[3:], out)
	})
}

// load reads from the database what the windows lack, and fills them.
func (s *Store) load(ctx context.Context, windows []*window, keys []storage.StateKey, out []entries) error {
	contents, err := s.loadWindows(ctx, windows)
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
		states, err := ask(ctx, s, "read states", func(ctx context.Context) ([]storage.States, error) {
			return s.Store.States(ctx, pick(keys, missing), windowStates)
		})
		if err != nil {
			return err
		}
		for i, at := range missing {
			found[at] = states[i]
		}
	}
	var calls []call
	for i, w := range windows {
		args := []string{w.lease, "entries", spread(s.opts.Life), spread(s.opts.ShownLife), text(int64(s.opts.Window))}
		switch {
		case contents[i].Complete:
			args[1] = "all"
			for bizID, states := range contents[i].States {
				args = appendStates(args, bizID, &states, false)
			}
		case !w.loaded:
			args[1] = "some"
		}
		for _, at := range w.asked {
			states, bizID := found[at], keys[at].Subject.BizID
			if contents[i].Complete {
				states = contents[i].States[bizID]
			} else {
				args = appendStates(args, bizID, &states, true)
			}
			out[at].learn(&states, w.lease != "")
		}
		if w.lease != "" {
			calls = append(calls, call{fillScript, w.key, nil, args})
		}
	}
	s.fill(ctx, calls)
	return nil
}

// loadWindows reads everything of the windows that are not loaded. The answer
// has a place for each window.
func (s *Store) loadWindows(ctx context.Context, windows []*window) ([]mirror.Window, error) {
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
	found, err := ask(ctx, s, "read windows", func(ctx context.Context) ([]mirror.Window, error) {
		return s.opts.Database.Windows(ctx, keys, s.opts.Window)
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		out[at[i]] = found[i]
	}
	return out, nil
}

// appendStates appends the arguments of fill for the states of one subject;
// those that were never set only where all are wanted.
func appendStates(args []string, bizID string, states *storage.States, all bool) []string {
	for _, kind := range windowKinds {
		if e := stored(states, kind); all || e.version > 0 {
			args = append(args, entryName(kind, bizID), text(e.version), e.text(kind), text(e.history[0].version)+":"+shareText(e.state))
		}
	}
	return args
}

// learn takes what the database holds, where Redis does not know better. What
// the counts include of it is known only if nobody was kept from filling the
// window: else a transaction may just have changed it.
func (es *entries) learn(states *storage.States, settled bool) {
	for i, kind := range windowKinds {
		e, inDatabase := &es[i], stored(states, kind)
		if !settled {
			inDatabase.history = nil
		}
		before := e.version
		covered := e.merge(&inDatabase, i)
		if covered && before < inDatabase.version {
			*e = inDatabase
			continue
		}
		e.known = true
		if len(e.history) == 0 {
			e.history = inDatabase.history
		}
		e.shown, e.marked = e.shown && !covered, e.marked && !covered
	}
}
