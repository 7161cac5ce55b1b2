package resolvers

import (
	"encoding/json"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"

	"ovation/resolvers/codes"
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

// quota limits the memory that the subscriptions of a process use.
type quota struct {
	maxSubjects, maxText int
	anonymousPercent     int // the percentage of each limit that is available to anonymous users

	mu             sync.Mutex
	subjects, text int
	anonymous      int                        // subjects of anonymous users
	documents      map[*ast.QueryDocument]int // number of subscriptions by document
}

// footprint is the memory that a subscription takes in addition to its subjects.
type footprint struct {
	anonymous bool
	document  *ast.QueryDocument
	text      int // bytes and fields of the document
	variables int // bytes of text in the variables, if they are read again for each response
}

// acquire reserves memory for a subscription. It returns an error if the quota is
// exhausted.
func (q *quota) acquire(one footprint, subjects int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	text := one.variables
	if q.documents[one.document] == 0 {
		text += one.text
	}
	maxText, maxAnonymous := q.maxText, q.maxSubjects*q.anonymousPercent/100
	if one.anonymous { // the limit includes documents shared with signed-in users
		maxText = q.maxText * q.anonymousPercent / 100
	}
	switch {
	case q.subjects+subjects > q.maxSubjects, one.anonymous && q.anonymous+subjects > maxAnonymous:
		return &problem{codes.Unavailable, "this server cannot watch more subjects at the moment; try again later"}
	case text > 0 && q.text+text > maxText:
		return &problem{codes.Unavailable, "the subscriptions of this server use too many different documents: pass subjects as variables, or try again later"}
	}
	if q.documents == nil {
		q.documents = map[*ast.QueryDocument]int{}
	}
	q.documents[one.document]++
	q.subjects, q.text = q.subjects+subjects, q.text+text
	if one.anonymous {
		q.anonymous += subjects
	}
	return nil
}

// release frees the memory that acquire reserved.
func (q *quota) release(one footprint, subjects int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.subjects, q.text = q.subjects-subjects, q.text-one.variables
	if one.anonymous {
		q.anonymous -= subjects
	}
	if q.documents[one.document]--; q.documents[one.document] == 0 {
		delete(q.documents, one.document)
		q.text -= one.text
	}
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
