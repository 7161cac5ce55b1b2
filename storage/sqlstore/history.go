package sqlstore

import "ovation/storage"

// HideReads changes those elements of Reads that a user has cleared from the history to
// reads of the anonymous users. The parameter clears maps such reads to the highest version
// that a clear covers. Of an element that stands for reads before and after that version,
// the last read remains the user's.
func (of *ByKind) HideReads(clears map[storage.StateKey]int64) {
	if len(clears) == 0 {
		return
	}
	reads := make([]storage.Action, 0, len(of.Reads))
	for i := range of.Reads {
		a := of.Reads[i]
		until := clears[storage.StateKey{User: a.User, Subject: a.Subject}]
		hidden := a
		hidden.User.UserID = ""
		switch {
		case a.Version <= until:
			a = hidden
		case a.First <= until && a.Times > 1:
			hidden.Times, hidden.Version = a.Times-1, until
			reads = append(reads, hidden)
			a.Times, a.First = 1, a.Version
		}
		reads = append(reads, a)
	}
	of.Reads = storage.Coalesce(reads)
}

// RowRange returns the bounds of the keys (biz and bizId) that a clear selects: from is
// included, to is not. No id contains a control character.
func RowRange(clearing storage.ReadsClear) (from, to [2]string) {
	const next, afterAll = "\x01", "{" // a biz consists of a-z, 0-9, _ and -
	switch {
	case clearing.BizID != "":
		return [2]string{clearing.Biz, clearing.BizID}, [2]string{clearing.Biz, clearing.BizID + next}
	case clearing.Biz != "":
		return [2]string{clearing.Biz}, [2]string{clearing.Biz + next}
	}
	return [2]string{}, [2]string{afterAll}
}

// ClearedReads holds the rows that a clear takes from a user's history, in the order of
// their keys.
type ClearedReads struct{ Rows []storage.Read }

// Hidden returns the rows as actions of the anonymous users.
func (c *ClearedReads) Hidden() *ByKind {
	of := new(ByKind)
	for i := range c.Rows {
		r := &c.Rows[i]
		anonymous := storage.User{Tenant: r.User.Tenant}
		of.Reads = append(of.Reads, storage.Action{User: anonymous, Subject: r.Subject, Kind: storage.KindRead, Times: r.Times, First: r.First, Version: r.Last})
	}
	return of
}

// Tally returns the changes to counts: each subject loses a reader.
func (c *ClearedReads) Tally() Tally {
	t := NewTally()
	for i := range c.Rows {
		t.subject(c.Rows[i].Subject).ReaderCount--
	}
	return t
}

// Bounds returns the keys (biz and bizId) of the first and the last row. There must be a
// row.
func (c *ClearedReads) Bounds() (first, last [2]string) {
	f, l := c.Rows[0].Subject, c.Rows[len(c.Rows)-1].Subject
	return [2]string{f.Biz, f.BizID}, [2]string{l.Biz, l.BizID}
}

// Scan appends a row: biz, bizId, times, first and last.
func (c *ClearedReads) Scan(user storage.User, scan func(...any) error) error {
	r := storage.Read{User: user, Subject: storage.Subject{Tenant: user.Tenant}}
	err := scan(&r.Subject.Biz, &r.Subject.BizID, &r.Times, &r.First, &r.Last)
	c.Rows = append(c.Rows, r)
	return err
}
