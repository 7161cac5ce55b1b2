package resolvers

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"

	"ovation/graph"
)

// SDL returns the schema in GraphQL's schema definition language: the text of
// schema.graphqls.
func SDL() string {
	return graph.NewExecutableSchema(graph.Config{}).Schema().Query.Position.Src.Input
}

// federationLink imports the directives in the SDL of a subgraph. It names the first
// version that has them, which every gateway of Federation 2 accepts.
const federationLink = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key", "@shareable"])` + "\n\n"

// SubgraphSDL returns the schema for the composition of a supergraph: SDL with the
// directives of Apollo Federation. PageInfo is shareable, because other subgraphs with
// Relay connections declare it, too.
var SubgraphSDL = sync.OnceValue(func() string {
	changes := make([]string, 0, 2+2*len(entities))
	changes = append(changes, "\ntype PageInfo {", "\ntype PageInfo @shareable {")
	for _, of := range entities {
		head := "\ntype " + of.typ + " implements Node"
		keys := `@key(fields: "` + strings.Join(of.keys, `") @key(fields: "`) + `")`
		changes = append(changes, head+" {", head+" "+keys+" {")
	}
	return federationLink + strings.NewReplacer(changes...).Replace(SDL())
})

// gzippedSDL returns SDL, compressed.
var gzippedSDL = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = w.Write([]byte(SDL()))                           // writes to memory do not fail
	_ = w.Close()
	return out.Bytes()
})

// serveSDL returns a handler that serves the schema to code generators and to GraphiQL,
// compressed if they accept gzip. If introspection is off, the handler does not serve the
// schema.
func serveSDL(introspection bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8") // browsers would save application/graphql
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !introspection {
			http.Error(w, "this server does not show its schema (--introspection); ovation schema prints it", http.StatusNotFound)
			return
		}
		w.Header().Set("Vary", "Accept-Encoding")
		content := []byte(SDL())
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			w.Header().Set("Content-Encoding", "gzip")
			content = gzippedSDL()
		}
		_, _ = w.Write(content) // the client may have disconnected
	}
}

// acceptsGzip reports whether a list such as "br, gzip" names gzip without a quality, as
// the lists of browsers and of Go do.
func acceptsGzip(accept []string) bool {
	for _, line := range accept {
		for coding := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				return true
			}
		}
	}
	return false
}
