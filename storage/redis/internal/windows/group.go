package windows

import (
	"context"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// Group collects the calls of a script, one for each window. Call Add for each state.
type Group struct {
	reader *Reader
	epoch  keyspace.Epoch
	script *scripts.Script
	shared []string // leading arguments, the same for every window
	index  map[mirror.WindowKey]int
	Calls  []scripts.Call
}

// NewGroup returns an empty Group for a script that writes entries. The shared arguments
// of its calls are the TTLs of a window, the limit of a window, and the parameter last.
func (r *Reader) NewGroup(at keyspace.Epoch, of *scripts.Script, last string) *Group {
	life, shown := r.TTLs()
	first := []string{life, shown, scripts.Text(int64(r.Limit)), last}
	return &Group{reader: r, epoch: at, script: of, shared: first, index: make(map[mirror.WindowKey]int)}
}

// Add adds a state, with its arguments, to the call for its window. It returns the index
// of that call in g.Calls.
func (g *Group) Add(user storage.User, subject storage.Subject, kind storage.Kind, args ...string) int {
	key := mirror.WindowKey{User: user, Biz: subject.Biz}
	i, ok := g.index[key]
	if !ok {
		i = len(g.Calls)
		g.index[key] = i
		g.Calls = append(g.Calls, g.script.On(g.epoch.Window(key), g.shared))
	}
	c := &g.Calls[i]
	c.Args = append(append(c.Args, window.Name(kind, subject.BizID)), args...)
	return i
}

// Run runs the script on all windows.
func (g *Group) Run(ctx context.Context, what string) error {
	return g.reader.Redis.RunAll(ctx, what, g.Calls, nil)
}

// DecodeApplied decodes a reply to scripts.Apply, which holds the entries of the first
// action's subject. It returns false if some entries are unknown.
func (r *Reader) DecodeApplied(reply *rueidis.RedisMessage, key storage.StateKey) (window.Entries, bool) {
	var out [1]window.Entries
	w := &Request{indices: []int{0}, fields: []string{window.Field(key.Subject.BizID)}, out: out[:]}
	values, err := reply.ToArray()
	if err != nil || r.decodeWindow(w, values) != nil || !w.loaded {
		return out[0], false
	}
	if w.complete {
		w.setNone()
	}
	return out[0], out[0].AllKnown()
}

// TTLs returns the life of a window (life) and of a window with queued entries (shown),
// with jitter, as arguments of scripts.
func (r *Reader) TTLs() (life, shown string) {
	return scripts.Jitter(r.TTL), scripts.Jitter(r.QueuedTTL)
}

// InvalidationGroup returns an empty Group of the script that invalidates entries.
func (r *Reader) InvalidationGroup(at keyspace.Epoch) *Group {
	life, shown := r.TTLs()
	return &Group{reader: r, epoch: at, script: scripts.Invalidate, shared: []string{life, shown, scripts.Text(r.Guard.Milliseconds())}, index: make(map[mirror.WindowKey]int)}
}
