package resolvers

import (
	"encoding/json"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
)

const (
	// maxWatched is how many subjects the subscriptions of a process watch, each
	// counted for each subscription. One takes some 300 bytes, and some 700 more
	// that nobody else watches, and 2 KiB more at most of what is encoded.
	maxWatched = 1_000_000
	// maxDocuments is how long the documents of all subscriptions may be, in
	// bytes, each field that they select, fragments filled in, counting as one. One
	// that many have is counted once; who writes subjects into it, and not into
	// variables, has one of their own. A byte of it takes 110 bytes of memory at
	// most, a field 140.
	maxDocuments = 8 << 20
)

// room is what there is room for in the subscriptions of a process.
type room struct {
	maxSubjects, maxText int
	anonymousPercent     int // of either, that anonymous users may take

	mu             sync.Mutex
	subjects, text int
	anonymous      int                        // subjects of anonymous users
	documents      map[*ast.QueryDocument]int // how many subscriptions have each
}

// kept is what a subscription keeps besides its subjects.
type kept struct {
	anonymous bool
	document  *ast.QueryDocument
	text      int // bytes and fields of the document
	variables int // bytes of text in those that are read again
}

// take makes room for a subscription. It fails where there is none.
func (r *room) take(one kept, subjects int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := one.variables
	if r.documents[one.document] == 0 {
		text += one.text
	}
	maxText, maxAnonymous := r.maxText, r.maxSubjects*r.anonymousPercent/100
	if one.anonymous { // and of text that they have in common with others
		maxText = r.maxText * r.anonymousPercent / 100
	}
	switch {
	case r.subjects+subjects > r.maxSubjects, one.anonymous && r.anonymous+subjects > maxAnonymous:
		return &problem{codeUnavailable, "this server watches as many subjects as it can; try again"}
	case text > 0 && r.text+text > maxText:
		return &problem{codeUnavailable, "the subscriptions of this server have as many different documents as it can keep: name subjects by a variable, or try again"}
	}
	if r.documents == nil {
		r.documents = map[*ast.QueryDocument]int{}
	}
	r.documents[one.document]++
	r.subjects, r.text = r.subjects+subjects, r.text+text
	if one.anonymous {
		r.anonymous += subjects
	}
	return nil
}

// give gives back what was taken.
func (r *room) give(one kept, subjects int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subjects, r.text = r.subjects-subjects, r.text-one.variables
	if one.anonymous {
		r.anonymous -= subjects
	}
	if r.documents[one.document]--; r.documents[one.document] == 0 {
		delete(r.documents, one.document)
		r.text -= one.text
	}
}

// textIn is how many bytes of text there are in a value of a variable.
func textIn(value any) (n int) {
	switch v := value.(type) {
	case string:
		n = len(v)
	case json.Number:
		n = len(v)
	case []any:
		for _, one := range v {
			n += textIn(one)
		}
	case map[string]any:
		for _, one := range v {
			n += textIn(one)
		}
	}
	return n
}
