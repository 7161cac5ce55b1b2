package importer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"

	"ovation/storage"
)

// blockActions is how many actions are asked for and written together. The ids
// of groups that stores remember hang on it: they end at multiples of 5,000, of
// older releases, and of this. It may become a multiple of what it is and
// nothing else. More saves little and holds locks for longer.
const blockActions = 40_000

// parsed is one action of the file.
type parsed struct {
	storage.Action
	does   action
	prefix string // the id of all actions up to this one
}

// block is what follows the block before it in the file.
type block struct {
	actions []parsed
	merged  []storage.Action // the same, as storage.Coalesce leaves them
	rows    int64            // read so far, of every sort
	bytes   int64            // read so far of the packed file
}

// parser turns rows into blocks.
type parser struct {
	rows    rowReader
	mapping Mapping
	does    map[string]action // by event
	all     action            // of every row; 0 where the event tells
	tenant  string
	strict  bool
	size    int // of a block
	where   func() int64
	stop    func() // makes a read that waits fail

	chain   [sha256.Size]byte
	scratch []byte
	ties    ties

	read    int64
	bad     int64
	badRows []RowError
	skipped map[Skipped]int64
}

func newParser(src *Source, o Options) (*parser, error) {
	rows, err := newRowReader(src, o.Mapping)
	if err != nil {
		return nil, err
	}
	p := &parser{
		rows: rows, mapping: o.Mapping, tenant: o.Tenant, strict: o.Strict, size: blockActions, where: src.read.Load, stop: src.stop,
		does: make(map[string]action, len(o.Mapping.Events)), all: actionNames[o.Mapping.All],
		chain:   sha256.Sum256([]byte("ovation import 1")),
		skipped: make(map[Skipped]int64),
	}
	for event, name := range o.Mapping.Events {
		p.does[event] = actionNames[name] // 0 to skip
	}
	return p, nil
}

// run sends one block after the other until the file ends, which is no error.
// What was read before an error has been sent.
func (p *parser) run(ctx context.Context, to chan<- block) error {
	for {
		b, readErr := p.block()
		select {
		case to <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		if errors.Is(readErr, io.EOF) {
			return nil
		}
		if readErr != nil {
			return readErr
		}
	}
}

// block reads the next one. It is short only together with an error.
func (p *parser) block() (block, error) {
	b := block{actions: make([]parsed, 0, p.size)}
	var err error
	for len(b.actions) < p.size && err == nil {
		var a parsed
		if a, err = p.next(); err == nil && a.does != 0 {
			b.actions = append(b.actions, a)
		}
	}
	b.rows, b.bytes = p.read, p.where()
	b.merged = storage.Coalesce(actionsOf(b.actions)) // here, where nobody waits for it
	return b, err
}

func actionsOf(all []parsed) []storage.Action {
	out := make([]storage.Action, len(all))
	for i := range all {
		out[i] = all[i].Action
	}
	return out
}

// next reads a row. Of a skipped or bad one it returns nothing.
func (p *parser) next() (parsed, error) {
	var r row
	err := p.rows.next(&r)
	if err == nil {
		p.read++
		var a parsed
		if a, err = p.parse(&r); err == nil {
			return a, nil
		}
		return parsed{}, p.reject(RowError{p.rows.line(), err.Error()})
	}
	if bad, is := errors.AsType[*RowError](err); is {
		p.read++
		return parsed{}, p.reject(*bad)
	}
	return parsed{}, err
}

// reject notes a bad row, or stops at it.
func (p *parser) reject(bad RowError) error {
	p.bad++
	if len(p.badRows) < maxBadRows {
		p.badRows = append(p.badRows, bad)
	}
	if p.strict {
		return &bad
	}
	return nil
}

func (p *parser) parse(r *row) (parsed, error) {
	does := p.all
	if does == 0 {
		var mapped bool
		if does, mapped = p.does[r[colEvent]]; does == 0 {
			p.skip(r[colEvent], mapped)
			return parsed{}, nil
		}
	}
	at, err := parseTime(r[colTime], p.mapping.TimeUnit)
	if err != nil {
		return parsed{}, err
	}
	biz := p.mapping.Biz
	if biz == "" {
		biz = r[colBiz]
	}
	a := parsed{does: does}
	a.User = storage.User{Tenant: p.tenant, UserID: r[colUser]}
	a.Subject = storage.Subject{Tenant: p.tenant, Biz: biz, BizID: r[colSubject]}
	does.apply(&a.Action, at)
	if err := a.Validate(); err != nil {
		return parsed{}, err
	}
	// Values may share memory with a row that is much longer than they are.
	a.User.UserID = strings.Clone(a.User.UserID)
	a.Subject.Biz = strings.Clone(a.Subject.Biz)
	a.Subject.BizID = strings.Clone(a.Subject.BizID)
	if a.Kind != storage.KindRead {
		a.Version = p.ties.resolve(&a.Action)
	}
	a.prefix = p.extend(&a)
	return a, nil
}

// skip counts a row that has no action, under at most maxSkipped names.
func (p *parser) skip(event string, mapped bool) {
	s := Skipped{Event: clip(event), Reason: "not mapped to an action"}
	if mapped {
		s.Reason = "mapped to " + skip
	}
	if _, known := p.skipped[s]; !known {
		if len(p.skipped) >= maxSkipped {
			s = Skipped{Reason: "not mapped to an action, under further names"}
		}
		s.Event = strings.Clone(s.Event)
	}
	p.skipped[s]++
}

// extend makes the id of all actions up to this one.
func (p *parser) extend(a *parsed) string {
	b := p.scratch[:0]
	b = append(b, p.chain[:]...)
	for _, s := range []string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = append(b, byte(a.does))
	b = binary.AppendUvarint(b, uint64(a.Version))
	p.scratch, p.chain = b, sha256.Sum256(b)
	const enough = 24 // bytes, for no two files ever to meet
	return "import-" + hex.EncodeToString(p.chain[:enough])
}

// ties gives actions on one state with the same time different versions, in
// the order of the file. It remembers the latest rememberedTies actions, so
// that only ties further apart than that go to the earlier row.
type ties struct {
	young, old map[tie]int64 // the next free version
}

const rememberedTies = 100_000

type tie struct {
	key  storage.StateKey
	kind storage.Kind
	at   int64
}

func (t *ties) resolve(a *storage.Action) int64 {
	version := a.Version
	for {
		next, taken := t.next(a, version)
		if !taken {
			break
		}
		version = next
	}
	if len(t.young) >= rememberedTies || t.young == nil {
		t.old, t.young = t.young, make(map[tie]int64)
	}
	for _, at := range []int64{a.Version, version} {
		t.young[tieOf(a, at)] = version + 1
	}
	return version
}

func (t *ties) next(a *storage.Action, at int64) (next int64, taken bool) {
	key := tieOf(a, at)
	if next, taken = t.young[key]; !taken {
		next, taken = t.old[key]
	}
	return next, taken
}

func tieOf(a *storage.Action, at int64) tie {
	return tie{storage.StateKey{User: a.User, Subject: a.Subject}, a.Kind, at}
}

// skips returns what was skipped, the most frequent first.
func (p *parser) skips() []Skipped {
	out := make([]Skipped, 0, len(p.skipped))
	for s, rows := range p.skipped {
		s.Rows = rows
		out = append(out, s)
	}
	slices.SortFunc(out, compareSkipped)
	return out
}
