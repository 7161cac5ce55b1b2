package windows

import (
	"context"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// group gathers the arguments of a script by window. One call of add goes for
// each state.
type group struct {
	reader *Reader
	epoch  keyspace.Epoch
	script *scripts.Script
	first  []string // arguments that come before, of every window
	at     map[mirror.WindowKey]int
	Calls  []scripts.Call
}

// Group returns an empty group of a script that writes entries; last is what it takes
// besides the lives and the limit of a window.
func (r *Reader) Group(at keyspace.Epoch, of *scripts.Script, last string) *group {
	life, shown := r.Lives()
	first := []string{life, shown, scripts.Text(int64(r.Limit)), last}
	return &group{reader: r, epoch: at, script: of, first: first, at: make(map[mirror.WindowKey]int)}
}

// Add adds a state, with what the script takes of it.
func (g *group) Add(user storage.User, subject storage.Subject, kind storage.Kind, args ...string) {
	key := mirror.WindowKey{User: user, Biz: subject.Biz}
	i, ok := g.at[key]
	if !ok {
		i = len(g.Calls)
		g.at[key] = i
		g.Calls = append(g.Calls, g.script.On(g.epoch.Window(key), g.first))
	}
	c := &g.Calls[i]
	c.Args = append(append(c.Args, window.Name(kind, subject.BizID)), args...)
}

// Run runs the script on all windows.
func (g *group) Run(ctx context.Context, what string) error {
	return g.reader.Redis.RunAll(ctx, what, g.Calls, nil)
}

// Lives are the arguments that say how long a window lives.
func (r *Reader) Lives() (life, shown string) {
	return scripts.Spread(r.Life), scripts.Spread(r.ShownLife)
}

// Forgetting returns an empty group of the script that forgets.
func (r *Reader) Forgetting(at keyspace.Epoch) *group {
	life, shown := r.Lives()
	return &group{reader: r, epoch: at, script: scripts.Forget, first: []string{life, shown, scripts.Text(r.Guard.Milliseconds())}, at: make(map[mirror.WindowKey]int)}
}
