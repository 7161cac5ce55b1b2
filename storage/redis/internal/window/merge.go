package window

import (
	"ovation/storage"
)

// ApplyTo copies the states of the given kinds to a result (the parameter to), and
// adjusts its counts. If an entry is unknown, the counts stay unchanged, and the
// freshness storage.Live becomes storage.Stale. ApplyTo returns false if it is unknown
// which of the states the counts include.
func (es *Entries) ApplyTo(to *storage.Interactive, key storage.StateKey, kinds storage.Kinds) bool {
	if es.neverSet() {
		to.Liked, to.Collected, to.Followed = nil, nil, nil
		return true
	}
	states := es.States(key, kinds)
	to.Liked, to.Collected, to.Followed = states.Liked, states.Collected, states.Followed
	for i := range es {
		if !es[i].Known && to.Freshness == storage.Live {
			to.Freshness = storage.Stale
		}
	}
	if to.Freshness == storage.Unavailable || !es.AllKnown() {
		return true
	}
	return es.adjustCounts(&to.Counts)
}

// MergeSnapshot merges inDatabase into the entries. The counts and the states in
// inDatabase are from one snapshot of the database. Each entry gets a history of what
// these counts include. It also gets the state in the database, unless the entry is newer.
func (es *Entries) MergeSnapshot(inDatabase *storage.Interactive) {
	states := storage.States{Liked: inDatabase.Liked, Collected: inDatabase.Collected, Followed: inDatabase.Followed}
	if states.Liked != nil {
		states.Reaction = storage.Register{Value: states.Liked.Reaction, Set: states.Liked.Version}
	}
	if states.Collected != nil {
		states.CollectionVersion = states.Collected.Version
	}
	if states.Followed != nil {
		states.FollowVersion = states.Followed.Version
	}
	for i, kind := range Kinds {
		there := FromStates(&states, kind)
		if es[i].Merge(&there, i) {
			es[i] = there
		}
		es[i].history, es[i].Known = there.history, true
	}
}

// MergeStates merges states that were read from the database into the entries, as Merge
// does. exact is true if a lease for filling the window was granted. Without a lease, a
// transaction may just have changed what the counts include, so the entries get no
// history from states.
func (es *Entries) MergeStates(states *storage.States, exact bool) {
	for i, kind := range Kinds {
		e, inDatabase := &es[i], FromStates(states, kind)
		if !exact {
			inDatabase.history = nil
		}
		before := e.version
		covered := e.Merge(&inDatabase, i)
		if covered && before < inDatabase.version {
			*e = inDatabase
			continue
		}
		e.Known = true
		if len(e.history) == 0 {
			e.history = inDatabase.history
		}
		e.Queued, e.Marked = e.Queued && !covered, e.Marked && !covered
	}
}

// Apply merges an action into the entry, as the Lua script named apply does for a queued
// action.
func (e *Entry) Apply(a *storage.Action) {
	if a.Kind != storage.KindReaction {
		if _, state, _ := ActionText(a); e.version < a.Version {
			*e = Entry{Known: true, Queued: true, version: a.Version, set: a.Version, State: state, history: e.history}
		}
		return
	}
	before := e.register()
	if r := before.Join(storage.RegisterOf(a)); r != before {
		e.setRegister(r)
		e.Queued = true
		e.Known = e.Known || a.If == storage.NoReaction // a clear alone does not determine the reaction
	}
}

// Included reports whether the states include the action a, or an action that supersedes
// it.
func Included(states *storage.States, a *storage.Action) bool {
	switch a.Kind {
	case storage.KindReaction:
		return states.Reaction.Covers(storage.RegisterOf(a))
	case storage.KindCollection:
		return states.CollectionVersion >= a.Version
	default:
		return states.FollowVersion >= a.Version
	}
}

// SetNone makes unknown entries known: their states were never set in the database.
// Clears that an entry includes are kept.
func (es *Entries) SetNone() {
	for kind := range es {
		switch e := &es[kind]; {
		case e.Known:
		case e.Absent() && e.version == 0: // nothing to merge, as in most entries of most pages
			*e = KnownNone
		default:
			e.Merge(&KnownNone, kind)
			e.Known, e.history = true, KnownNone.history
		}
	}
}

// AcceptStale prepares the entries for use without the database, which is unavailable. If
// loaded is false, that is, if the window is not loaded, entries without a history become
// unknown, since the database may have newer states.
func (es *Entries) AcceptStale(loaded bool) {
	for kind := range es {
		e := &es[kind]
		e.Known = e.Known && (loaded || len(e.history) > 0)
	}
}

// neverSet reports whether every entry is known never to have been set, which is the most
// frequent case.
func (es *Entries) neverSet() bool {
	for i := range es {
		if e := &es[i]; !e.Known || e.version != 0 || len(e.history) != 1 || e.history[0] != (inclusion{}) {
			return false
		}
	}
	return true
}

// AllKnown reports whether every entry is known.
func (es *Entries) AllKnown() bool {
	return es[Reaction].Known && es[collection].Known && es[follow].Known
}
