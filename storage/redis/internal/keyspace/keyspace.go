// Package keyspace names the keys of the mirror in Redis:
//
//	PREFIX:EPOCH:c:{TENANT:BIZ:BIZID}   counts of a subject
//	PREFIX:EPOCH:w:{TENANT:u:USER}:BIZ  a window: a user's states on subjects of one biz
//	PREFIX:EPOCH:alive:FORM             the sentinel of the epoch
//	PREFIX:q:{TENANT}                   documents of persisted queries
//
// The part in braces determines in which slot of a cluster a key lies. No two subjects
// share a key, nor do two windows, and no id can choose its slot:
// TestBracesInIDsDoNotCutTheHashTag.
package keyspace

import (
	"strconv"
	"strings"

	"ovation/storage"
	"ovation/storage/mirror"
)

// Form is the version of the format of values in Redis. It covers counts (package counts
// and lua/counts.lua) and window entries (package window and lua/entry.lua). Increase
// Form if either this release or the previous one cannot read the other's values, for
// example because of a new count or a new kind of entry. A process with another Form does
// not find the sentinel. It does not use the mirror until the processes that use it have
// stopped. The changelog therefore announces a new Form (docs/operations.md, Upgrade).
const Form = "4"

// Epoch is the prefix of the keys of one epoch.
type Epoch string

// Of returns the Epoch with the given number. prefix must not contain braces.
func Of(prefix string, number int64) Epoch {
	return Epoch(prefix + ":" + strconv.FormatInt(number, 10))
}

// EpochOf returns the epoch of a key of counts or of a window, and false for any other key.
func EpochOf(prefix, key string) (Epoch, bool) {
	rest, ok := strings.CutPrefix(key, prefix+":")
	number, rest, _ := strings.Cut(rest, ":")
	return Epoch(prefix + ":" + number), ok && (strings.HasPrefix(rest, "c:{") || strings.HasPrefix(rest, "w:{"))
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

// Sentinel returns the key whose existence proves that Redis holds the epoch.
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

// Documents returns the key of a tenant's documents. The documents belong to no epoch:
// readers verify each document by its hash, so a loss of data in Redis does no harm.
func Documents(prefix, tenant string) string { return prefix + ":q:{" + tenant + "}" }

// SubjectOf returns the subject of a key of counts, in any epoch. It returns false for
// any other key.
func SubjectOf(prefix, key string) (of storage.Subject, ok bool) {
	rest, ok := strings.CutPrefix(key, prefix)
	if !ok || !strings.HasPrefix(rest, ":") {
		return of, false
	}
	_, rest, ok = strings.Cut(rest[1:], ":c:{") // the part before ":c:{" is the epoch's number
	if !ok || !strings.HasSuffix(rest, "}") {
		return of, false
	}
	tenant, rest, _ := strings.Cut(rest[:len(rest)-1], ":")
	biz, id, ok := strings.Cut(rest, ":")
	return storage.Subject{Tenant: strings.Clone(tenant), Biz: strings.Clone(biz), BizID: strings.Clone(untagged(id))}, ok
}

// tagged escapes an id for a hash tag. A hash tag ends at the first closing brace, so an
// id with a closing brace could choose the slot of its keys, and many such ids could
// share one slot. In an id with braces, tagged percent-encodes the braces and every
// percent sign, and prepends an opening brace. An id that needs no escaping never begins
// with a brace.
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
