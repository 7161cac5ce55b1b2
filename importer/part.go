package importer

import (
	"context"
	"fmt"
	"strconv"

	"ovation/storage"
)

// part is a range of consecutive actions of a block that are not all stored yet. They are
// written in the order of their keys, in groups. Each group is stored with an id that
// states how much of the part is written. These ids allow an import to resume a part that
// was begun earlier, even if the size of groups has increased since then:
//
//	import-FIRST-part       FIRST is the prefix id of the first action: a part begins here
//	import-LAST-end         LAST is the prefix id of the last action
//	import-LAST-N           the first N actions, in the order of their keys, are stored
//	import-LAST             the part and all actions of the stream before it are stored
//
// A part that consists of a single group is stored with the last of these ids only.
type part struct {
	block    *block
	from, to int
	order    []int32
	written  int // how many actions of order are stored or were returned by next
}

func (p *part) first() string { return p.block.prefixes[p.from].String() + "-part" }

func (p *part) id() string { return p.block.prefixes[p.to-1].String() }

// end returns the "-end" id of a part whose last action is at index to-1.
func (b *block) end(to int) string { return b.prefixes[to-1].String() + "-end" }

func (p *part) reached(n int) string { return p.id() + "-" + strconv.Itoa(n) }

// newPart returns a part with a block's actions in the range [from, to).
func newPart(b *block, from, to int) *part {
	p := &part{block: b, from: from, to: to, order: b.order}
	if from > 0 || to < len(b.actions) {
		p.order = b.sorted(from, to)
	}
	return p
}

// next returns the next group of the part, as messages to persist. The group holds the
// next actions, as many as the parameter size allows, and then all further actions on the
// same state as the last of them.
func (p *part) next(size int) *group {
	start := p.written
	n := min(start+size, len(p.order))
	for n < len(p.order) && p.block.sameState(p.order[n-1], p.order[n]) {
		n++
	}
	p.written = n
	g := &group{}
	m := storage.Message{ID: p.id(), Forever: true}
	whole := n == len(p.order)
	if start > 0 || !whole {
		m.ID = p.reached(n)
	}
	if p.block.stream.comments {
		m.Comments = p.comments(g, p.order[start:n])
	} else {
		m.Actions = p.actions(g, p.order[start:n])
	}
	g.messages = []storage.Message{m}
	if start == 0 && !whole {
		g.addIDs(p.first(), p.block.end(p.to))
	}
	if start > 0 && whole {
		g.addIDs(p.id())
	}
	return g
}

// comments returns the comments at the given indexes and counts them in the group.
func (p *part) comments(g *group, places []int32) []storage.PastComment {
	out := make([]storage.PastComment, len(places))
	for i, place := range places {
		out[i] = p.block.comment(place)
		g.done[actionComment]++
		if p.block.texts[place] == "" {
			g.textless++
		}
	}
	return out
}

// actions returns the actions at the given indexes, coalesced. It counts them in the
// group, and sets the folders of the group.
func (p *part) actions(g *group, places []int32) []storage.Action {
	actions := make([]storage.Action, 0, len(places))
	names := map[string]string{} // of folders, by id
	for i, place := range places {
		does := p.block.actions[place].action
		g.done[does]++
		a := p.block.action(place)
		if in := p.block.actions[place].folder; in > 0 {
			names[a.FolderID] = p.block.folders[in].name
		}
		if i > 0 && a.Kind.AddsUp() && p.block.sameState(places[i-1], place) {
			last := &actions[len(actions)-1] // one state may have very many reads
			last.Times++
			last.First, last.Version = min(last.First, a.First), max(last.Version, a.Version)
			continue
		}
		actions = append(actions, a)
	}
	actions = storage.Coalesce(actions)
	g.folders = foldersOf(actions, names)
	return actions
}

// addIDs adds ids to be stored with the group.
func (g *group) addIDs(ids ...string) {
	for _, id := range ids {
		g.messages = append(g.messages, storage.Message{ID: id, Forever: true})
	}
}

// maxSeenIDs is the maximum number of ids that one call looks up in a store.
const maxSeenIDs = 40_000

// lastSeen looks up n ids in the store. It returns the index of the last one that the
// store has seen, or -1 if it has seen none of them.
func lastSeen(ctx context.Context, to storage.Persister, n int, id func(int) string) (int, error) {
	last := -1
	for start := 0; start < n; start += maxSeenIDs {
		ids := make([]string, min(maxSeenIDs, n-start))
		for i := range ids {
			ids[i] = id(start + i)
		}
		seen, err := to.Seen(ctx, ids)
		if err != nil {
			return 0, fmt.Errorf("ask for %d actions imported before: %w", len(ids), err)
		}
		for i := range seen {
			if seen[i] {
				last = start + i
			}
		}
	}
	return last, nil
}

// pendingParts returns the parts of a block that are not completely stored, and how many
// actions of the block are stored.
func pendingParts(ctx context.Context, to storage.Persister, b *block) (parts []*part, there int, err error) {
	n := len(b.actions)
	last, err := lastSeen(ctx, to, n, func(i int) string { return b.prefixes[i].String() })
	if err != nil || last == n-1 {
		return nil, n, err
	}
	there = last + 1
	rest := newPart(b, there, n)
	begun, err := lastSeen(ctx, to, 1, func(int) string { return rest.first() })
	if err != nil || begun < 0 {
		return []*part{rest}, there, err
	}
	// The part may end before the block does, because the file may have grown.
	end, err := lastSeen(ctx, to, n-there, func(i int) string { return b.end(there + i + 1) })
	if err != nil || end < 0 {
		return []*part{rest}, there, err
	}
	old := newPart(b, there, there+end+1)
	reached, err := lastSeen(ctx, to, len(old.order), func(i int) string { return old.reached(i + 1) })
	if err != nil {
		return nil, 0, err
	}
	old.written = reached + 1
	parts = []*part{old}
	if old.to < n {
		parts = append(parts, newPart(b, old.to, n))
	}
	return parts, there + old.written, nil
}
