package resolvers

import (
	"net/http"

	"ovation/graph"
)

// SDL returns the schema in GraphQL's schema definition language: the text of
// schema.graphqls.
func SDL() string {
	return graph.NewExecutableSchema(graph.Config{}).Schema().Query.Position.Src.Input
}

// serveSDL returns a handler that serves the schema to code generators. If introspection
// is off, the handler does not serve the schema.
func serveSDL(introspection bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8") // browsers would save application/graphql
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !introspection {
			http.Error(w, "this server does not show its schema (--introspection); ovation schema prints it", http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(SDL())) // the client may have disconnected
	}
}
