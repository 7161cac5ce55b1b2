package resolvers

import (
	"encoding/json"
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/codes"
	"ovation/api/quota"
)

const (
	// maxWatchedSubjects is the maximum number of subjects that the subscriptions of a
	// process watch together. A subject counts once for each subscription that watches
	// it, and takes about 300 bytes in each. It takes about 700 bytes more for its first
	// subscription, and up to 2 KiB of encoded responses. A stream of comments or
	// messages counts as maxChanges subjects, because it buffers up to maxWaiting bytes.
	maxWatchedSubjects = 1_000_000
	// maxDocuments bounds the documents of all subscriptions. The size of a document is
	// its length in bytes plus the number of selected fields with fragments expanded. A
	// document that several subscriptions share counts once. Clients that put subjects
	// into the document, and not into variables, have a document each. Each byte takes
	// up to 110 bytes of memory, and each field up to 140.
	maxDocuments = 8 << 20
)

// room is the memory that the subscriptions of a process may use. Every user and every
// address has a share of it.
type room struct {
	subjects *quota.Quota
	text     *quota.Quota // bytes and fields of documents, and bytes of variables
}

// newRoom returns a room of which nothing is used. Anonymous users may use a percentage of
// it.
func newRoom(subjects, text, anonymousPercent int) *room {
	return &room{quota.New(quota.Usual(subjects, anonymousPercent)), quota.New(quota.Usual(text, anonymousPercent))}
}

// footprint is the memory that a subscription takes in addition to its subjects.
type footprint struct {
	owner     quota.Owner
	document  *ast.QueryDocument
	text      int // bytes and fields of the document
	variables int // bytes of text in the variables, if they are read again for each response
}

// acquire reserves memory for a subscription. It returns an error if a share is
// exhausted.
func (r *room) acquire(one footprint, subjects int) error {
	if exhausted := r.subjects.Acquire(one.owner, subjects); exhausted != quota.None {
		return refusedRoom(exhausted, "watch more subjects", r.subjects.Bound(exhausted), "subjects", "complete some of them first")
	}
	exhausted := r.text.AcquireItem(one.owner, one.document, one.text)
	if exhausted == quota.None {
		if exhausted = r.text.Acquire(one.owner, one.variables); exhausted == quota.None {
			return nil
		}
		r.text.ReleaseItem(one.owner, one.document)
	}
	r.subjects.Release(one.owner, subjects)
	return refusedRoom(exhausted, "keep more different documents", r.text.Bound(exhausted), "bytes and fields of different documents", "pass subjects as variables, or complete some of them first")
}

// refusedRoom returns the error for a subscription that does not fit into a share.
func refusedRoom(exhausted quota.Kind, more string, most int, units, remedy string) error {
	whose := map[quota.Kind]string{
		quota.User: "your subscriptions", quota.Visitors: "the subscriptions of anonymous visitors from your address", quota.Address: "all subscriptions from your address",
	}[exhausted]
	if whose == "" {
		return &problem{codes.Unavailable, fmt.Sprintf("this server cannot %s at the moment: %s, or try again later", more, remedy)}
	}
	return &problem{codes.LimitExceeded, fmt.Sprintf("%s may hold %d %s together: %s", whose, most, units, remedy)}
}

// release frees the memory that acquire reserved.
func (r *room) release(one footprint, subjects int) {
	r.subjects.Release(one.owner, subjects)
	r.text.ReleaseItem(one.owner, one.document)
	r.text.Release(one.owner, one.variables)
}

// textBytes returns the length, in bytes, of all strings and numbers in a variable's
// value.
func textBytes(value any) (n int) {
	switch v := value.(type) {
	case string:
		n = len(v)
	case json.Number:
		n = len(v)
	case []any:
		for _, one := range v {
			n += textBytes(one)
		}
	case map[string]any:
		for _, one := range v {
			n += textBytes(one)
		}
	}
	return n
}
