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

// Form is that of the values in Redis. A process that knows another form does not
// find the sentinel and is a stranger to the mirror: versions that differ in it do
// not read what the other writes.
const Form = "2"

// Epoch begins the keys of one epoch.
type Epoch string

// Of returns the keys of an epoch under a prefix without braces.
func Of(prefix string, number int64) Epoch {
	return Epoch(prefix + ":" + strconv.FormatInt(number, 10))
}

// Counts names the counts of a subject. Neither a tenant nor a biz holds a colon.
func (e Epoch) Counts(of storage.Subject) string {
	return string(e) + ":c:{" + of.Tenant + ":" + of.Biz + ":" + tagged(of.BizID) + "}"
}

// Window names a window. All of a user's share a slot.
func (e Epoch) Window(of mirror.WindowKey) string {
	return string(e) + ":w:{" + of.User.Tenant + ":u:" + tagged(of.User.UserID) + "}:" + of.Biz
}

// Sentinel names what proves that Redis holds the epoch.
func (e Epoch) Sentinel() string { return string(e) + ":alive:" + Form }

// AllCounts begins the keys of all counts.
func (e Epoch) AllCounts() string { return string(e) + ":c:" }

// AllWindows begins the keys of all windows.
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

// Documents names the documents of a tenant. They are of no epoch: a hash proves
// its text, whatever Redis has lost.
func Documents(prefix, tenant string) string { return prefix + ":q:{" + tenant + "}" }

// SubjectOf returns the subject whose counts lie under a key, of whatever epoch.
func SubjectOf(prefix, key string) (of storage.Subject, ok bool) {
	rest, ok := strings.CutPrefix(key, prefix)
	if !ok || !strings.HasPrefix(rest, ":") {
		return of, false
	}
	_, rest, ok = strings.Cut(rest[1:], ":c:{") // what is cut off is the epoch: it holds no brace
	if !ok || !strings.HasSuffix(rest, "}") {
		return of, false
	}
	tenant, rest, _ := strings.Cut(rest[:len(rest)-1], ":")
	biz, id, ok := strings.Cut(rest, ":")
	return storage.Subject{Tenant: strings.Clone(tenant), Biz: strings.Clone(biz), BizID: strings.Clone(untagged(id))}, ok
}

// tagged returns an id as it stands in a hash tag, which the first closing brace
// ends: an id with one would decide in which slot its keys lie, and many could be
// made to share a slot. Ids with braces stand behind an opening brace, which no
// other id begins with, and are escaped as in a URL.
func tagged(id string) string {
	if strings.IndexByte(id, '{') < 0 && strings.IndexByte(id, '}') < 0 {
		return id
	}
	return "{" + escapeBraces.Replace(id)
}

// untagged is tagged backwards.
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
