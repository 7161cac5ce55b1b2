package storage

// Clears holds the versions of the latest conditional clears (Action.If) by one user on
// one subject, for each reaction. 0 means none.
type Clears [Dislike]int64

// Of returns the version of the latest action that conditionally clears the given
// reaction, or 0 if there is none.
func (c Clears) Of(r Reaction) int64 {
	if r == NoReaction {
		return 0
	}
	return c[r-1]
}

// Latest returns the highest version in c.
func (c Clears) Latest() int64 { return max(c[Like-1], c[Dislike-1]) }

// Register is the reaction of one user to one subject: a last-writer-wins register with
// conditional clears. Replicas that have merged the same actions hold the same value,
// regardless of the order in which the actions arrived. To make this possible, a Register
// keeps what a later merge may need: the version of the unconditional action that set it,
// and each conditional clear above that version. A clear that does not apply now may
// still apply to an action that arrives later with a lower version.
type Register struct {
	// Value is the reaction: NoReaction if none was set or a clear has removed it.
	Value Reaction
	// Set is the version of the latest unconditional action, or 0 if there was none.
	Set int64
	// Clears holds the conditional clears above Set.
	Clears Clears
}

// RegisterOf returns the Register that results from a single action of KindReaction.
func RegisterOf(a *Action) (r Register) {
	if a.If == NoReaction {
		return Register{Value: a.Reaction, Set: a.Version}
	}
	r.Clears[a.If-1] = a.Version
	return r
}

// Version returns the version of the latest action that was merged, or 0 if there was
// none.
func (r Register) Version() int64 { return max(r.Set, r.Clears.Latest()) }

// Join merges another Register into r and returns the result. The order of merges does
// not matter, except that r wins if two different actions have the same version.
func (r Register) Join(other Register) Register {
	if r.Set < other.Set {
		r.Value, r.Set = other.Value, other.Set
	}
	for i := range r.Clears {
		if r.Clears[i] = max(r.Clears[i], other.Clears[i]); r.Clears[i] <= r.Set {
			r.Clears[i] = 0
		}
	}
	if r.Clears.Of(r.Value) > 0 {
		r.Value = NoReaction
	}
	return r
}

// Covers reports whether r already includes everything that the other Register holds.
func (r Register) Covers(other Register) bool { return r.Join(other) == r }

// Liked returns the reaction as a state, or nil if there is none.
func (r Register) Liked(key StateKey) *Liked {
	if r.Value == NoReaction {
		return nil
	}
	return &Liked{User: key.User, Subject: key.Subject, Reaction: r.Value, Version: r.Set}
}
