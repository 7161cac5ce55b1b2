package persisted

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// IDMembers are the members of a request that may have the id of a trusted document, the
// most significant first: that of the GraphQL over HTTP specification and of GraphQL Code
// Generator, and two that clients based on Relay use.
var IDMembers = [...]string{"documentId", "id", "doc_id"}

// sha256Prefix begins an id that is the SHA-256 of the document.
const sha256Prefix = "sha256:"

// documentID is the value in the extensions of a request that Identify adds. No client
// can send a value of this type.
type documentID string

// Identify records the id of the document of a request without a text.
func Identify(params *graphql.RawParams, id string) {
	if params.Extensions == nil {
		params.Extensions = make(map[string]any, 1)
	}
	params.Extensions[IDMembers[0]] = documentID(id)
}

// Identified reports whether a request identifies its document by an id or a hash. Such a
// request need not contain the document's text.
func Identified(params *graphql.RawParams) bool {
	_, byHash := params.Extensions[Extension]
	_, byID := params.Extensions[IDMembers[0]].(documentID)
	return byHash || byID
}

// Compiler prepares documents for execution.
type Compiler interface {
	// Compile parses and validates a document. Its errors are of type *gqlerror.Error.
	Compile(text string) (*ast.QueryDocument, error)
	// Pin keeps compiled documents, by text, ready for execution until it is called again.
	Pin(documents map[string]*ast.QueryDocument)
}

// TrustedOptions configures trusted documents.
type TrustedOptions struct {
	// Files are manifests: Relay's persisted_queries.json, Apollo's
	// persisted-query-manifest.json or GraphQL Code Generator's persisted-documents.json.
	Files []string
	// Only makes the executor refuse all other documents.
	Only bool
	// Registry registers the metrics. If it is nil, there are none.
	Registry prometheus.Registerer
}

// Trusted holds the documents that the owner of a site has listed in manifests. Clients of
// all tenants may use them by their ids, by their SHA-256 and by their texts. It is safe
// for concurrent use. Executor gives it a Compiler, which must be done before Load.
type Trusted struct {
	TrustedOptions

	compiler Compiler
	loading  sync.Mutex
	current  atomic.Pointer[manifest]
	metrics  trustedMetrics
}

// manifest is what all manifests together contain. It does not change.
type manifest struct {
	byID   map[string]*trusted
	byText map[string]*trusted
	byHash map[[sha256.Size]byte]*trusted
	bytes  int // of the texts
	// documents are the compiled documents, by text.
	documents map[string]*ast.QueryDocument
}

// trusted is a trusted document.
type trusted struct {
	text   string
	hash   [sha256.Size]byte
	series series
}

// NewTrusted returns trusted documents, of which there are none before Load.
func NewTrusted(options TrustedOptions) *Trusted {
	t := &Trusted{TrustedOptions: options, metrics: newTrustedMetrics(options.Registry)}
	t.current.Store(&manifest{})
	return t
}

// inUse reports whether requests have to be compared with trusted documents.
func (t *Trusted) inUse() bool { return t.Only || len(t.Files) > 0 }

// Load reads all manifests. If one of them is invalid, Load returns an error that names
// the file, the document and the place in it, and the documents of the last successful
// Load remain in use. Requests are executed in the meantime. Load of nil does nothing.
func (t *Trusted) Load(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.loading.Lock()
	defer t.loading.Unlock()
	next := &manifest{
		byID: map[string]*trusted{}, byText: map[string]*trusted{}, byHash: map[[sha256.Size]byte]*trusted{},
		documents: map[string]*ast.QueryDocument{},
	}
	labels := t.metrics.labels()
	for _, file := range t.Files {
		all, err := readManifest(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, one := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := t.add(next, one, labels); err != nil {
				return fmt.Errorf("%s: document %.80q: %w", file, one.id, err)
			}
		}
	}
	t.compiler.Pin(next.documents)
	next.documents = nil // the compiler has them
	t.current.Store(next)
	t.metrics.loaded(len(next.byText), labels)
	return nil
}

// add adds a document to a manifest.
func (t *Trusted) add(to *manifest, one listed, labels *labels) error {
	if err := checkID(one.id, one.text); err != nil {
		return err
	}
	document := to.byText[one.text]
	if known := to.byID[one.id]; known != nil && known != document {
		return errors.New("the id occurs once more, with another text")
	}
	if document != nil {
		to.byID[one.id] = document
		return one.check(to.documents[one.text])
	}
	if to.bytes += len(one.text); len(to.byText) == MaxTrustedDocuments || to.bytes > maxTrustedBytes {
		return fmt.Errorf("there are too many documents: at most %d, and %d MiB of text, are allowed in all manifests together", MaxTrustedDocuments, maxTrustedBytes>>20)
	}
	compiled, err := t.compiler.Compile(one.text)
	if err != nil {
		return invalid(err)
	}
	if err := one.check(compiled); err != nil {
		return err
	}
	document = &trusted{text: one.text, hash: sha256.Sum256([]byte(one.text))}
	document.series = labels.of(operationName(compiled, one.id))
	to.byID[one.id], to.byText[one.text], to.byHash[document.hash] = document, document, document
	to.documents[one.text] = compiled
	return nil
}

// invalid returns an error of a compiler with the place in the document.
func invalid(err error) error {
	fault, is := errors.AsType[*gqlerror.Error](err)
	if !is {
		return err
	}
	if len(fault.Locations) == 0 {
		return errors.New(fault.Message)
	}
	return fmt.Errorf("line %d, column %d: %s", fault.Locations[0].Line, fault.Locations[0].Column, fault.Message)
}

// check returns an error if the document has no operation of the listed name and kind.
func (l listed) check(document *ast.QueryDocument) error {
	if l.name == "" && l.kind == "" {
		return nil
	}
	for _, operation := range document.Operations {
		if l.name == operation.Name && (l.kind == "" || l.kind == string(operation.Operation)) {
			return nil
		}
	}
	return fmt.Errorf("the text has no %s %.60q", cmp.Or(l.kind, "operation"), l.name)
}

// operationName returns the name of the only operation of a document, or else otherwise.
func operationName(document *ast.QueryDocument, otherwise string) string {
	if len(document.Operations) == 1 {
		return cmp.Or(document.Operations[0].Name, otherwise)
	}
	return otherwise
}

// match returns the document of a request, or nil if it is not trusted, and the outcome
// for the metrics.
func (m *manifest) match(text string, asked identity) (document *trusted, outcome string) {
	switch {
	case text != "":
		if document = m.byText[text]; document == nil {
			return nil, "untrusted_text"
		}
		return document, "trusted_text"
	case asked.id != "":
		document = m.find(asked.id)
	case asked.hashed:
		document = m.byHash[asked.hash]
	}
	if document == nil {
		return nil, "not_found"
	}
	return document, "trusted"
}

// find returns the document with an id, or nil if there is none.
func (m *manifest) find(id string) *trusted {
	if document := m.byID[id]; document != nil {
		return document
	}
	var hash [sha256.Size]byte
	digits, hashed := strings.CutPrefix(id, sha256Prefix)
	if !hashed || len(digits) != hex.EncodedLen(len(hash)) {
		return nil
	}
	if _, err := hex.Decode(hash[:], []byte(digits)); err != nil {
		return nil
	}
	return m.byHash[hash]
}

// Key is the context key of a *Use.
type Key struct{}

// Use records which trusted document a request has used. Its zero value means none.
type Use struct{ document *trusted }

// Done counts a request that has been answered. The duration took is counted unless it is
// 0.
func (u Use) Done(code string, took time.Duration) {
	if u.document != nil {
		u.document.series.done(code, took)
	}
}

// use records that a request uses the document.
func (d *trusted) use(ctx context.Context) {
	if u, ok := ctx.Value(Key{}).(*Use); ok {
		u.document = d
	}
}
