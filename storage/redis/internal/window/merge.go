package window

import (
	"ovation/storage"
)

// Show puts the entries into an answer. It returns false where it is not known
// what the counts include of them.
func (es *Entries) Show(to *storage.Interactive, key storage.StateKey, kinds storage.Kinds) bool {
	states := es.States(key, kinds)
	to.Liked, to.Collected = states.Liked, states.Collected
	for i := range es {
		if !es[i].Known && to.Freshness == storage.Live {
			to.Freshness = storage.Stale
		}
	}
	if to.Freshness == storage.Unavailable || !es.AllKnown() {
		return true
	}
	return es.correct(&to.Counts)
}

// Since gives each entry a history of what the answer of the database
// includes, and its state where that is newer.
func (es *Entries) Since(inDatabase *storage.Interactive) {
	states := storage.States{Liked: inDatabase.Liked, Collected: inDatabase.Collected}
	if states.Liked != nil {
		states.Reaction = storage.Register{Value: states.Liked.Reaction, Set: states.Liked.Version}
	}
	if states.Collected != nil {
		states.CollectionVersion = states.Collected.Version
	}
	for i, kind := range Kinds {
		there := Stored(&states, kind)
		if es[i].Merge(&there, i) {
			es[i] = there
		}
		es[i].history, es[i].Known = there.history, true
	}
}

// Learn takes what the database holds, where Redis does not know better. What
// the counts include of it is known only if nobody was kept from filling the
// window: else a transaction may just have changed it.
func (es *Entries) Learn(states *storage.States, settled bool) {
	for i, kind := range Kinds {
		e, inDatabase := &es[i], Stored(states, kind)
		if !settled {
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
		e.Shown, e.Marked = e.Shown && !covered, e.Marked && !covered
	}
}

// Lay merges an action into the entry, as if it had been shown.
func (e *Entry) Lay(a *storage.Action) {
	if a.Kind == storage.KindCollection {
		if e.version < a.Version {
			*e = Entry{Known: true, Shown: true, version: a.Version, set: a.Version, State: collectionState(a.FolderID), history: e.history}
		}
		return
	}
	before := e.register()
	if r := before.Join(storage.RegisterOf(a)); r != before {
		e.hold(r)
		e.Shown = true
		e.Known = e.Known || a.If == storage.NoReaction // a clear alone does not tell what there is
	}
}

// Included reports whether states include an action, or something newer.
func Included(states *storage.States, a *storage.Action) bool {
	if a.Kind == storage.KindReaction {
		return states.Reaction.Covers(storage.RegisterOf(a))
	}
	return states.CollectionVersion >= a.Version
}

// KnowNone makes what is unknown known to be none.
func (es *Entries) KnowNone() {
	for kind := range es {
		if e := &es[kind]; !e.Known {
			e.Merge(&KnownNone, kind)
			e.Known, e.history = true, KnownNone.history
		}
	}
}

// MakeDo takes an old copy, where the database cannot be asked. Without a loaded
// window, entries that the database may have overtaken are not known.
func (es *Entries) MakeDo(loaded bool) {
	for kind := range es {
		e := &es[kind]
		e.Known = e.Known && (loaded || len(e.history) > 0)
	}
}

// AllKnown reports whether both entries are known.
func (es *Entries) AllKnown() bool { return es[Reaction].Known && es[collection].Known }
