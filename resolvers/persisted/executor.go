package persisted

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/api/codes"
	"ovation/api/rate"
	"ovation/api/viewer"
)

// Extension is the member of a request's extensions that identifies a document by its
// hash.
const Extension = "persistedQuery"

// messageNotFound is the error message for an unknown hash. Some clients check the
// message instead of the code.
const messageNotFound = "PersistedQueryNotFound"

// Store shares documents between nodes. Implementations are safe for concurrent
// use and bound what they keep.
type Store interface {
	// Document returns the text that a tenant's clients registered under a hash, or "" if
	// there is none. The hash is in hexadecimal digits.
	Document(ctx context.Context, tenant, hash string) (text string, err error)
	// KeepDocument registers a document's text under its hash for a tenant's clients.
	KeepDocument(ctx context.Context, tenant, hash, text string) error
}

// Options configures an executor. The zero value is a good choice.
type Options struct {
	// Store shares documents with other nodes. If it is nil, they are not shared.
	Store Store
	// Trusted are the trusted documents, which Compiler prepares. If it is nil, there are
	// none, and Compiler may be nil, too.
	Trusted  *Trusted
	Compiler Compiler
	// Registry registers the metrics. If it is nil, there are none.
	Registry prometheus.Registerer
}

// Executor wraps an executor, so that a request may identify its document by a hash, or by
// the id of a trusted document.
func Executor(exec graphql.GraphExecutor, options Options) graphql.GraphExecutor {
	if options.Trusted == nil {
		options.Trusted = NewTrusted(TrustedOptions{})
	}
	options.Trusted.compiler = options.Compiler
	return &persistedExecutor{
		GraphExecutor: exec, memory: newMemory(maxDocuments, maxBytes), store: options.Store, trusted: options.Trusted,
		requests: promauto.With(options.Registry).NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_persisted_queries_total",
			Help: "Requests that name their document by its hash or id: found, trusted, not_found, registered (text and hash), or failed where the shared store did not answer. Where there are trusted documents, also requests with a text: trusted_text, or untrusted_text if it is no trusted one.",
		}, []string{"outcome"}),
	}
}

type persistedExecutor struct {
	graphql.GraphExecutor

	memory   *memory
	store    Store // may be nil
	trusted  *Trusted
	requests *prometheus.CounterVec
}

// CreateOperationContext implements graphql.GraphExecutor. If params identify a known
// document by its hash or its id, CreateOperationContext sets the text in params.
func (e *persistedExecutor) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	asked, err := identityOf(params)
	if err != nil {
		return refused(err)
	}
	if e.trusted.inUse() || asked.id != "" {
		switch document, err := e.trust(ctx, params, asked); {
		case err != nil:
			return refused(err)
		case document != nil:
			params.Query = document.text
			document.use(ctx)
			return e.GraphExecutor.CreateOperationContext(ctx, params)
		}
	}
	if !asked.hashed {
		return e.GraphExecutor.CreateOperationContext(ctx, params)
	}
	of := key{viewer.FromContext(ctx).Tenant, asked.hash}
	if params.Query == "" {
		if params.Query = e.find(ctx, of); params.Query == "" {
			return refused(codes.Errorf(codes.PersistedQueryNotFound, messageNotFound))
		}
		return e.GraphExecutor.CreateOperationContext(ctx, params)
	}
	operation, errs := e.GraphExecutor.CreateOperationContext(ctx, params)
	if len(errs) == 0 {
		e.register(ctx, of, params.Query)
	}
	return operation, errs
}

// identity is how a request identifies its document, beside or in place of its text.
type identity struct {
	id     string // "" if there is none, or if there is a text
	hashed bool
	hash   [sha256.Size]byte
}

// identityOf returns the identity of the document of a request. It returns an error if it
// is malformed, or if it is not that of the text.
func identityOf(params *graphql.RawParams) (out identity, _ *gqlerror.Error) {
	if len(params.Extensions) == 0 {
		return out, nil
	}
	if id, is := params.Extensions[IDMembers[0]].(documentID); is {
		out.id = string(id)
	}
	named, has := params.Extensions[Extension]
	if !has {
		return out, nil
	}
	var err *gqlerror.Error
	if out.hash, err = hashOf(named); err != nil {
		return out, err
	}
	out.hashed = true
	if params.Query != "" && sha256.Sum256([]byte(params.Query)) != out.hash {
		return out, codes.Errorf(codes.BadUserInput, `"sha256Hash" in the extension persistedQuery is not the SHA-256 of "query"`)
	}
	return out, nil
}

// trust returns the trusted document of a request. It returns nil if the request has
// another document, which may be executed.
func (e *persistedExecutor) trust(ctx context.Context, params *graphql.RawParams, asked identity) (*trusted, *gqlerror.Error) {
	document, outcome := e.trusted.current.Load().match(params.Query, asked)
	automatic := params.Query == "" && asked.id == "" // the hash may be that of a registered document
	if document == nil && automatic && !e.trusted.Only {
		return nil, nil
	}
	e.requests.WithLabelValues(outcome).Inc()
	switch {
	case document != nil:
		return document, nil
	case e.trusted.Only:
		rate.FromContext(ctx).Charge(len(params.Query))
		return nil, codes.Errorf(codes.UntrustedDocument, "this server executes only trusted documents, and this is none; its owner can list it in a manifest (--trusted-documents)")
	case asked.id == "":
		return nil, nil
	case !e.trusted.inUse():
		return nil, codes.Errorf(codes.BadUserInput, `"query" is missing, and this server has no trusted documents that an id could name`)
	}
	return nil, codes.Errorf(codes.PersistedQueryNotFound, "no trusted document has the id %.80q; send the text", asked.id)
}

// find returns the text with the given hash, or "" if the hash is unknown.
func (e *persistedExecutor) find(ctx context.Context, of key) string {
	text, found := e.memory.get(of, rate.FromContext(ctx).Owner())
	if !found && e.store != nil {
		var err error
		if text, err = e.store.Document(ctx, of.tenant, hex.EncodeToString(of.hash[:])); err != nil {
			e.requests.WithLabelValues("failed").Inc()
			return "" // the client then sends the text
		}
		// The store may contain anything, so check the hash of the text.
		if found = text != "" && sha256.Sum256([]byte(text)) == of.hash; found {
			e.memory.put(of, text, rate.FromContext(ctx).Owner())
		}
	}
	if !found {
		e.requests.WithLabelValues("not_found").Inc()
		return ""
	}
	e.requests.WithLabelValues("found").Inc()
	return text
}

// register stores the text of a valid document. If the store fails, the request is
// executed nevertheless; clients of other nodes then have to send the text once more.
func (e *persistedExecutor) register(ctx context.Context, of key, text string) {
	if _, known := e.memory.get(of, rate.FromContext(ctx).Owner()); known {
		return
	}
	e.memory.put(of, text, rate.FromContext(ctx).Owner())
	outcome := "registered"
	if e.store != nil && e.store.KeepDocument(ctx, of.tenant, hex.EncodeToString(of.hash[:]), text) != nil {
		outcome = "failed"
	}
	e.requests.WithLabelValues(outcome).Inc()
}

// hashOf reads the extension: {"version": 1, "sha256Hash": "64 hexadecimal
// digits"}.
func hashOf(extension any) (hash [sha256.Size]byte, err *gqlerror.Error) {
	members, isObject := extension.(map[string]any)
	text, isText := members["sha256Hash"].(string)
	switch {
	case !isObject:
		return hash, codes.Errorf(codes.BadUserInput, "the extension persistedQuery must be an object")
	case members["version"] != json.Number("1"):
		return hash, codes.Errorf(codes.BadUserInput, `the extension persistedQuery must have the "version" 1`)
	case !isText || len(text) != hex.EncodedLen(len(hash)):
		return hash, codes.Errorf(codes.BadUserInput, `the extension persistedQuery must have a "sha256Hash" of %d hexadecimal digits`, hex.EncodedLen(len(hash)))
	}
	if _, err := hex.Decode(hash[:], []byte(text)); err != nil {
		return hash, codes.Errorf(codes.BadUserInput, `"sha256Hash" in the extension persistedQuery is not hexadecimal`)
	}
	return hash, nil
}

func refused(err *gqlerror.Error) (*graphql.OperationContext, gqlerror.List) {
	return &graphql.OperationContext{}, gqlerror.List{err}
}
