package amqp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"ovation/storage"
)

// A message is sent in a binary format that takes about a quarter of the size of JSON.
// The first byte is the version of the format, which determines everything after it. A
// number is a varint as in encoding/binary; signed numbers are zigzag-encoded. Versions
// 1, 2 and 4 are:
//
//	version   byte      1, 2 or 4
//	flags     byte      1: the id is kept forever
//	at        signed    when it was published, microseconds since 1970
//	id        text
//	n         unsigned  how many actions follow
//	n times:
//	  kind      byte
//	  reaction  byte
//	  if        byte      from version 2
//	  follow    byte      from version 4: 1 if the user follows from now on
//	  tenant    text    of the user
//	  userId    text
//	  tenant    text    of the subject
//	  biz       text
//	  bizId     text
//	  folder    text
//	  times     signed
//	  first     signed
//	  version   signed  the difference from that of the previous action
//
// A text is encoded as 0, its length in bytes and its bytes. If it has occurred before,
// it is encoded as 1 plus its index among the distinct texts so far, of which the empty
// text is the first.
//
// Version 2 is written only for messages with a conditional clear, and version 4 only for
// messages with a follow or an unfollow, so that workers of the previous release can read
// all other messages.
//
// A new kind of action, a new field of an action or a new sort of message requires a new
// version. It gets the next number, and is written only for the messages that need it. A
// version with actions has all fields of earlier versions, because one message may need
// several of them. A release that cannot read a version dead-letters its messages, so
// workers are upgraded before nodes. Every version that was ever released is still read.
//
// Version 5 is a job for the cover of a video:
//
//	version     byte      5
//	flags       byte      0
//	at          signed
//	id          text
//	tenant      text
//	number      unsigned
//
// Version 3 is a barrier:
//
//	version     byte      3
//	flags       byte      0
//	at          signed
//	id          text
//	number      unsigned
//	partition   unsigned
//	partitions  unsigned
const (
	formatPlain       = 1
	formatConditional = 2
	formatBarrier     = 3
	formatFollow      = 4
	formatCover       = 5

	formatHighest = formatCover
)

// hasIf reports whether actions in the given version of the format have a field named if.
func hasIf(format byte) bool { return format >= formatConditional }

// hasFollow reports whether actions in the given version of the format have a field named
// follow.
func hasFollow(format byte) bool { return format >= formatFollow }

const flagForever = 1

// maxBody is the maximum size of a message in bytes. All RabbitMQ versions accept
// messages of this size by default.
const maxBody = 16 << 20

// encode encodes a message that is published at the given time.
func encode(m storage.Message, at time.Time) []byte {
	e := encoder{
		out:    make([]byte, 0, 64+48*len(m.Actions)),
		places: make(map[string]uint64, 4+2*len(m.Actions)), // most users and subjects are new
	}
	e.places[""] = 1
	flags := byte(0)
	if m.Forever {
		flags |= flagForever
	}
	format := formatOf(&m)
	e.out = append(e.out, format, flags)
	e.signed(storage.Micros(at))
	e.text(m.ID)
	switch format {
	case formatCover:
		e.text(m.Cover.Tenant)
		e.out = binary.AppendUvarint(e.out, uint64(m.Cover.Number))
		return e.out
	case formatBarrier:
		for _, n := range [...]int64{m.Barrier.Number, int64(m.Barrier.Partition), int64(m.Barrier.Partitions)} {
			e.out = binary.AppendUvarint(e.out, uint64(n))
		}
		return e.out
	}
	e.out = binary.AppendUvarint(e.out, uint64(len(m.Actions)))
	version := int64(0)
	for _, a := range m.Actions {
		e.out = append(e.out, byte(a.Kind), byte(a.Reaction))
		if hasIf(format) {
			e.out = append(e.out, byte(a.If))
		}
		if hasFollow(format) {
			e.out = append(e.out, bit(a.Following))
		}
		for _, s := range [...]string{a.User.Tenant, a.User.UserID, a.Subject.Tenant, a.Subject.Biz, a.Subject.BizID, a.FolderID} {
			e.text(s)
		}
		e.signed(a.Times)
		e.signed(a.First)
		e.signed(a.Version - version)
		version = a.Version
	}
	return e.out
}

// formatOf returns the earliest version of the format that can hold a message.
func formatOf(m *storage.Message) byte {
	switch {
	case m.Barrier != storage.Barrier{}:
		return formatBarrier
	case m.Cover != storage.VideoKey{}:
		return formatCover
	}
	format := byte(formatPlain)
	for i := range m.Actions {
		format = max(format, formatOfAction(&m.Actions[i]))
	}
	return format
}

// formatOfAction returns the earliest version of the format that can hold an action.
func formatOfAction(a *storage.Action) byte {
	switch {
	case a.Kind == storage.KindFollow || a.Following:
		return formatFollow
	case a.If != storage.NoReaction:
		return formatConditional
	}
	return formatPlain
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}

type encoder struct {
	out    []byte
	places map[string]uint64
}

func (e *encoder) signed(n int64) { e.out = binary.AppendVarint(e.out, n) }

func (e *encoder) text(s string) {
	place, known := e.places[s]
	e.out = binary.AppendUvarint(e.out, place) // 0 for a new text
	if !known {
		e.places[s] = uint64(len(e.places)) + 1
		e.out = binary.AppendUvarint(e.out, uint64(len(s)))
		e.out = append(e.out, s...)
	}
}

// errForm is returned for bytes that cannot be decoded.
var errForm = errors.New("the message is damaged")

// decode decodes a message of any released version. It returns the message and the time
// at which it was published.
func decode(body []byte) (storage.Message, time.Time, error) {
	d := decoder{rest: string(body), texts: []string{""}}
	version := d.byte()
	if d.err != nil {
		return storage.Message{}, time.Time{}, fmt.Errorf("%w: it is empty", errForm)
	}
	if version < formatPlain || version > formatHighest {
		return storage.Message{}, time.Time{}, fmt.Errorf(
			"the message has version %d; this release reads versions %d to %d", version, formatPlain, formatHighest)
	}
	flags := d.byte()
	at := storage.Time(d.signed())
	m := storage.Message{ID: d.text(), Forever: flags&flagForever != 0}
	if flags&^flagForever != 0 {
		d.fail("unknown flags")
	}
	switch version {
	case formatBarrier:
		m.Barrier = d.barrier()
	case formatCover:
		m.Cover = d.cover()
	default:
		m.Actions = d.actions(version)
	}
	if d.rest != "" {
		d.fail("bytes follow its end")
	}
	if d.err != nil {
		return storage.Message{}, time.Time{}, d.err
	}
	return m, at, nil
}

// decoder reads values from the front of the bytes in rest. After an error it returns
// zero values.
type decoder struct {
	rest  string
	texts []string
	err   error
}

func (d *decoder) fail(why string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", errForm, why)
	}
	d.rest = ""
}

func (d *decoder) actions(format byte) []storage.Action {
	const least = 11 // bytes of an action
	n := d.unsigned()
	if n > uint64(len(d.rest)/least) {
		d.fail("it holds fewer actions than it says")
		return nil
	}
	actions := make([]storage.Action, n)
	version := int64(0)
	for i := range actions {
		a := &actions[i]
		a.Kind, a.Reaction = storage.Kind(d.byte()), storage.Reaction(d.byte())
		if hasIf(format) {
			a.If = storage.Reaction(d.byte())
		}
		if hasFollow(format) {
			follow := d.byte()
			if a.Following = follow == 1; follow > 1 {
				d.fail("it says neither that it follows nor that it does not")
			}
		}
		for _, s := range [...]*string{&a.User.Tenant, &a.User.UserID, &a.Subject.Tenant, &a.Subject.Biz, &a.Subject.BizID, &a.FolderID} {
			*s = d.text()
		}
		a.Times, a.First = d.signed(), d.signed()
		version += d.signed()
		a.Version = version
	}
	return actions
}

func (d *decoder) barrier() storage.Barrier {
	number, partition, partitions := d.unsigned(), d.unsigned(), d.unsigned()
	if number == 0 || number > math.MaxInt64 || partitions > math.MaxInt32 || partition >= partitions {
		d.fail("it is no barrier")
		return storage.Barrier{}
	}
	return storage.Barrier{Number: int64(number), Partition: int(partition), Partitions: int(partitions)}
}

func (d *decoder) cover() storage.VideoKey {
	key := storage.VideoKey{Tenant: d.text()}
	number := d.unsigned()
	if number > math.MaxInt64 {
		number = 0
	}
	if key.Number = int64(number); d.err == nil && key.Validate() != nil {
		d.fail("it is no job for a cover")
	}
	return key
}

func (d *decoder) byte() byte {
	if d.rest == "" {
		d.fail("it ends too early")
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) unsigned() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := d.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	d.fail("a number is too large")
	return 0
}

func (d *decoder) signed() int64 {
	n := d.unsigned()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) text() string {
	place := d.unsigned()
	if place > uint64(len(d.texts)) {
		d.fail("a text is missing")
		return ""
	}
	if place > 0 {
		return d.texts[place-1]
	}
	n := d.unsigned()
	if n > uint64(len(d.rest)) {
		d.fail("it ends too early")
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	d.texts = append(d.texts, s)
	return s
}
