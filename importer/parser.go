package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"ovation/storage"
)

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

	chain   chained
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
		rows: rows, mapping: o.Mapping, tenant: o.Tenant, strict: o.Strict, size: cmp.Or(o.block, blockActions), where: src.read.Load, stop: src.stop,
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
	b := newBlockBuilder(p.tenant, p.size)
	var err error
	for len(b.actions) < p.size && err == nil {
		err = p.next(b)
	}
	b.rows, b.bytes = p.read, p.where()
	return b.finish(), err
}

// next reads a row and adds what it does to the block, which of a skipped or bad one
// is nothing.
func (p *parser) next(b *blockBuilder) error {
	var r row
	err := p.rows.next(&r)
	if err == nil {
		p.read++
		if err = p.parse(&r, b); err != nil {
			return p.reject(RowError{p.rows.line(), err.Error()})
		}
		return nil
	}
	if bad, is := errors.AsType[*RowError](err); is {
		p.read++
		return p.reject(*bad)
	}
	return err
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

func (p *parser) parse(r *row, b *blockBuilder) error {
	does := p.all
	if does == 0 {
		var mapped bool
		if does, mapped = p.does[r[colEvent]]; does == 0 {
			p.skip(r[colEvent], mapped)
			return nil
		}
	}
	at, err := parseTime(r[colTime], p.mapping.TimeUnit)
	if err != nil {
		return err
	}
	biz := p.mapping.Biz
	if biz == "" {
		biz = r[colBiz]
	}
	var a storage.Action
	a.User = storage.User{Tenant: p.tenant, UserID: r[colUser]}
	a.Subject = storage.Subject{Tenant: p.tenant, Biz: biz, BizID: r[colSubject]}
	does.apply(&a, at)
	if err := a.Validate(); err != nil {
		return err
	}
	if a.Kind != storage.KindRead {
		a.Version = p.ties.resolve(&a)
	}
	b.add(&a, does, p.extend(&a, does))
	return nil
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
func (p *parser) extend(a *storage.Action, does action) prefix {
	b := p.scratch[:0]
	b = append(b, p.chain[:]...)
	for _, s := range []string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = append(b, byte(does))
	b = binary.AppendUvarint(b, uint64(a.Version))
	p.scratch, p.chain = b, sha256.Sum256(b)
	return p.chain.prefix()
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
	kept := *a // without the memory of its row
	kept.User.UserID, kept.Subject.Biz, kept.Subject.BizID = strings.Clone(a.User.UserID), strings.Clone(a.Subject.Biz), strings.Clone(a.Subject.BizID)
	for _, at := range []int64{a.Version, version} {
		t.young[tieOf(&kept, at)] = version + 1
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
