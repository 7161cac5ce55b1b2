// Package keyspace names the keys of the mirror in Redis:
//
//	PREFIX:EPOCH:c:{TENANT:BIZ:BIZID}   counts of a subject
//	PREFIX:EPOCH:w:{TENANT:u:USER}:BIZ  a window: a user's states on subjects of one biz
//	PREFIX:EPOCH:alive:FORM             the sentinel of the epoch
//	PREFIX:q:{TENANT}                   documents of persisted queries
//
// The braces decide in which slot of a cluster a key lies. No two subjects and no
// two windows share a key, and no id can choose its slot:
// TestBracesInIDsDoNotCutTheHashTag.
package keyspace

import (
	"strconv"
	"strings"

	"ovation/storage"
	"ovation/storage/mirror"
)

// Form is the version of the format of values in Redis: of counts (package counts and
// lua/counts.lua) and of window entries (package window and lua/entry.lua). Increase it
// if the previous release cannot read what this one writes, or if this one cannot read
// what the previous one has written. Examples are a new count and a new kind of entry. A
// process with another form does not find the sentinel, and does not use the mirror until
// the processes that use it have stopped. The changelog therefore announces a new form
// (docs/operations.md, Upgrade).
const Form = "3"

// Epoch is the prefix of the keys of one epoch.
type Epoch string

// Of returns the Epoch of a number, under a prefix without braces.
func Of(prefix string, number int64) Epoch {
	return Epoch(prefix + ":" + strconv.FormatInt(number, 10))
}

// Counts returns the key of a subject's counts. Neither a tenant nor a biz contains a
// colon.
func (e Epoch) Counts(of storage.Subject) string {
	return string(e) + ":c:{" + of.Tenant + ":" + of.Biz + ":" + tagged(of.BizID) + "}"
}

// Window returns the key of a window. All windows of a user lie in one slot.
func (e Epoch) Window(of mirror.WindowKey) string {
	return string(e) + ":w:{" + of.User.Tenant + ":u:" + tagged(of.User.UserID) + "}:" + of.Biz
}

// Sentinel returns the key that proves that Redis holds the epoch.
func (e Epoch) Sentinel() string { return string(e) + ":alive:" + Form }

// AllCounts returns the prefix of the keys of all counts.
func (e Epoch) AllCounts() string { return string(e) + ":c:" }

// AllWindows returns the prefix of the keys of all windows.
func (e Epoch) AllWindows() string { return string(e) + ":w:" }

// WindowOf is the inverse of Window.
func (e Epoch) WindowOf(key string) (of mirror.WindowKey, ok bool) {
	tag := strings.TrimPrefix(key, e.AllWindows()+"{")
	end := strings.LastIndex(tag, "}:")
	if end < 0 {
		return of, false
	}
	of.Biz = tag[end+2:]
	of.User.Tenant, of.User.UserID, ok = strings.Cut(tag[:end], ":u:")
	of.User.UserID = untagged(of.User.UserID)
	return of, ok
}

// Documents returns the key of a tenant's documents. They belong to no epoch: a document
// is verified by its hash, whatever data Redis has lost.
func Documents(prefix, tenant string) string { return prefix + ":q:{" + tenant + "}" }

// SubjectOf returns the subject of a key of counts, in any epoch. It returns false for
// any other key.
func SubjectOf(prefix, key string) (of storage.Subject, ok bool) {
	rest, ok := strings.CutPrefix(key, prefix)
	if !ok || !strings.HasPrefix(rest, ":") {
		return of, false
	}
	_, rest, ok = strings.Cut(rest[1:], ":c:{") // the part before is the epoch, which has no brace
	if !ok || !strings.HasSuffix(rest, "}") {
		return of, false
	}
	tenant, rest, _ := strings.Cut(rest[:len(rest)-1], ":")
	biz, id, ok := strings.Cut(rest, ":")
	return storage.Subject{Tenant: strings.Clone(tenant), Biz: strings.Clone(biz), BizID: strings.Clone(untagged(id))}, ok
}

// tagged escapes an id for a hash tag, which ends at the first closing brace: an id with
// a closing brace would choose the slot of its keys, and many ids could be made to share
// a slot. An id with braces is prefixed with an opening brace, which begins no other id,
// and its braces are percent-encoded.
func tagged(id string) string {
	if strings.IndexByte(id, '{') < 0 && strings.IndexByte(id, '}') < 0 {
		return id
	}
	return "{" + escapeBraces.Replace(id)
}

// untagged is the inverse of tagged.
func untagged(text string) string {
	if escaped, is := strings.CutPrefix(text, "{"); is {
		return unescapeBraces.Replace(escaped)
	}
	return text
}

var (
	escapeBraces   = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")
	unescapeBraces = strings.NewReplacer("%25", "%", "%7B", "{", "%7D", "}")
)
