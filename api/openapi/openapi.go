package openapi

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"

	"go.yaml.in/yaml/v3"
)

// Path is where servers serve the document.
const Path = "/openapi.json"

//go:embed *.yaml
var parts embed.FS

// Options select the parts of a document.
type Options struct {
	Version string // of the program
	Douyin  bool   // includes the paths below /douyin/
	Media   bool   // includes the paths below /media/
}

// Document returns a document as JSON. The error is always nil, unless the files of this
// package are wrong.
func Document(o Options) ([]byte, error) {
	files := []string{"base.yaml"}
	if o.Douyin {
		files = append(files, "douyin.yaml", "douyin-schemas.yaml")
	}
	if o.Media {
		files = append(files, "media.yaml")
	}
	whole := map[string]any{}
	for _, name := range files {
		text, err := parts.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read a part of the OpenAPI document: %w", err)
		}
		var part map[string]any
		if err := yaml.Unmarshal(text, &part); err != nil {
			return nil, fmt.Errorf("read %s of the OpenAPI document: %w", name, err)
		}
		merge(whole, part)
	}
	merge(whole, map[string]any{"info": map[string]any{"version": o.Version}})
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	if err := to.Encode(whole); err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document: %w", err)
	}
	return out.Bytes(), nil
}

// merge adds the members of an object to another one: it merges objects, appends lists,
// and replaces other values.
func merge(into, from map[string]any) {
	for name, value := range from {
		switch value := value.(type) {
		case map[string]any:
			if inner, is := into[name].(map[string]any); is {
				merge(inner, value)
				continue
			}
		case []any:
			if before, is := into[name].([]any); is {
				into[name] = append(before, value...)
				continue
			}
		}
		into[name] = value
	}
}

// Handler returns a handler that serves a document. Pages of every origin may read it, as
// it is the same for all viewers.
func Handler(document []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "application/json; charset=utf-8")
		header.Set("Cache-Control", "no-cache")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Access-Control-Allow-Origin", "*")
		_, _ = w.Write(document) // the client may have disconnected
	})
}
