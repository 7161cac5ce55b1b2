// Package openapitest compares replies with the OpenAPI document.
//
// This package imports openapi.
package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ovation/api/openapi"
)

// Document is the whole document, with the schemas of replies.
type Document struct {
	Paths map[string]map[string]Operation // by path and method, in lower case

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
	whole    map[string]any
}

// Operation is what a test needs of an operation.
type Operation struct {
	Parameters []struct {
		Ref string `json:"$ref"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema struct {
				Properties map[string]any `json:"properties"`
			} `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]any `json:"responses"`
}

// Load returns the document. All calls return the same one.
var Load = sync.OnceValues(load)

func load() (*Document, error) {
	text, err := openapi.Document(openapi.Options{Version: "1", Douyin: true, Media: true})
	if err != nil {
		return nil, err
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	d := &Document{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(location, whole); err != nil {
		return nil, err
	}
	d.whole, _ = whole.(map[string]any)
	var paths struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(text, &paths); err != nil {
		return nil, err
	}
	d.Paths = map[string]map[string]Operation{}
	for path, item := range paths.Paths {
		d.Paths[path] = map[string]Operation{}
		for method, raw := range item {
			if method == "parameters" { // of the path
				continue
			}
			var op Operation
			if err := json.Unmarshal(raw, &op); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			d.Paths[path][method] = op
		}
	}
	return d, nil
}

const location = "file:///openapi.json"

// Names returns the names of an operation's parameters: those in its URL and those in its
// form.
func (d *Document) Names(op Operation) (names []string) {
	for _, p := range op.Parameters {
		parameter, _ := d.at(p.Ref).(map[string]any)
		name, _ := parameter["name"].(string)
		names = append(names, name)
	}
	for _, content := range op.RequestBody.Content {
		for name := range content.Schema.Properties {
			names = append(names, name)
		}
	}
	return names
}

// at returns the part of the document that a reference names, or nil if there is none.
func (d *Document) at(reference string) any {
	var part any = d.whole
	for name := range strings.SplitSeq(strings.TrimPrefix(reference, "#/"), "/") {
		object, _ := part.(map[string]any)
		part = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return part
}

// CheckReply returns an error unless the document describes a JSON reply of this status
// for the operation of a method and a path.
func (d *Document) CheckReply(method, path string, status int, body []byte) error {
	reference := "#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(status)
	response, is := d.at(reference).(map[string]any)
	if !is {
		return fmt.Errorf("the document has no status %d for %s %s", status, method, path)
	}
	if shared, is := response["$ref"].(string); is {
		reference = shared
	}
	return d.Check(reference+"/content/application~1json/schema", body)
}

// Check returns an error unless a JSON text fits the schema that a reference names.
func (d *Document) Check(reference string, text []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	schema := d.schemas[reference]
	if schema == nil {
		var err error
		if schema, err = d.compiler.Compile(location + reference); err != nil {
			return err
		}
		d.schemas[reference] = schema
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
