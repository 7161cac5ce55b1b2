package resolvers

import (
	"context"
	"net/http"

	gqlgen "github.com/99designs/gqlgen/graphql/executor"

	"ovation/graph"
	"ovation/resolvers/transport"
)

// NewExecutor returns the executor that NewHandler serves over HTTP. Tests use it for
// subscriptions, which a plain HTTP request cannot start.
func NewExecutor(cfg Config) *gqlgen.Executor {
	return newExecutor(newRoot(cfg, newCursors(make([]byte, 32))), cfg)
}

// NewOrdinaryExecutor returns an executor without the plain writer. Tests compare it with
// an executor that has the plain writer.
func NewOrdinaryExecutor(cfg Config) *gqlgen.Executor {
	root := newRoot(cfg, newCursors(make([]byte, 32)))
	root.plain = nil
	return newExecutor(root, cfg)
}

func newExecutor(root *Root, cfg Config) *gqlgen.Executor {
	e := gqlgen.New(graph.NewExecutableSchema(graph.Config{Schema: servedSchema(cfg.Federation), Resolvers: root}))
	root.install(e, cfg)
	return e
}

// NewOrdinaryHandler returns the handler of /graphql without the plain writer: gqlgen's
// executor writes all responses.
func NewOrdinaryHandler(ctx context.Context, cfg Config) (http.Handler, error) {
	key, err := cfg.Store.Secret(ctx, "cursor")
	if err != nil {
		return nil, err
	}
	root := newRoot(cfg, newCursors(key))
	root.plain = nil
	return transport.Handler(service(root, cfg), transport.Config{Auth: cfg.Auth, Logger: cfg.Logger}), nil
}
