package openapi_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"ovation/accounts"
	"ovation/api/codes"
	"ovation/api/openapi"
	"ovation/api/viewer"
	"ovation/storage"
)

var all = openapi.Options{Version: "1.2.3", Douyin: true, Media: true}

func load(t *testing.T, o openapi.Options) *openapi3.T {
	t.Helper()
	text, err := openapi.Document(o)
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// The document is valid, with its examples, whatever parts it has.
func TestDocumentIsValid(t *testing.T) {
	for o, paths := range map[openapi.Options]int{all: 22, {Version: "1", Douyin: true}: 16, {Version: "1", Media: true}: 6} {
		document := load(t, o)
		if err := document.Validate(t.Context()); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
		if document.OpenAPI != "3.1.0" || document.Info.Version != o.Version || document.Paths.Len() != paths {
			t.Errorf("%+v: got OpenAPI %s, version %s, %d paths, want 3.1.0, %s, %d", o, document.OpenAPI, document.Info.Version, document.Paths.Len(), o.Version, paths)
		}
	}
}

// Every operation, parameter, field and response has a description, every text, number
// and list that a client sends has a bound, and every component is in use.
func TestEverythingIsDescribed(t *testing.T) {
	document, ids, tags := load(t, all), map[string]bool{}, map[string]bool{}
	for _, tag := range document.Tags {
		tags[tag.Name] = tag.Description != ""
	}
	for path, item := range document.Paths.Map() {
		for method, op := range item.Operations() {
			at := method + " " + path
			if op.OperationID == "" || ids[op.OperationID] || op.Summary == "" || len(op.Tags) != 1 || !tags[op.Tags[0]] {
				t.Errorf("%s has id %q, summary %q, tags %v, want an id of its own, a summary and a described tag", at, op.OperationID, op.Summary, op.Tags)
			}
			ids[op.OperationID] = true
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				if p.Value.Description == "" && p.Value.Schema.Value.Description == "" {
					t.Errorf("%s: %s has no description", at, p.Value.Name)
				}
				bounded(t, at+": "+p.Value.Name, p.Value.Schema.Value)
			}
			if op.RequestBody != nil {
				for _, content := range op.RequestBody.Value.Content {
					for name, field := range content.Schema.Value.Properties {
						bounded(t, at+": "+name, field.Value)
						described(t, at+": "+name, field.Value)
					}
				}
			}
			for status, response := range op.Responses.Map() {
				if response.Value.Description == nil || *response.Value.Description == "" {
					t.Errorf("%s: %s has no description", at, status)
				}
			}
		}
	}
	for name, schema := range document.Components.Schemas {
		described(t, name, schema.Value)
		for field, inner := range schema.Value.Properties {
			described(t, name+"."+field, inner.Value)
		}
	}
	text, err := openapi.Document(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"schemas", "parameters", "responses"} {
		var components struct {
			Components map[string]map[string]any `json:"components"`
		}
		if err := json.Unmarshal(text, &components); err != nil {
			t.Fatal(err)
		}
		for name := range components.Components[group] {
			if !strings.Contains(string(text), fmt.Sprintf(`"#/components/%s/%s"`, group, name)) {
				t.Errorf("nothing refers to %s in %s", name, group)
			}
		}
	}
}

func described(t *testing.T, at string, schema *openapi3.Schema) {
	t.Helper()
	if schema.Description == "" {
		t.Errorf("%s has no description", at)
	}
}

// bounded fails the test if a client could send a value of any size.
func bounded(t *testing.T, at string, schema *openapi3.Schema) {
	t.Helper()
	switch {
	case schema.Type.Is("string"):
		if schema.MaxLength == nil && !strings.Contains(schema.Pattern, "{") && !strings.HasPrefix(schema.Pattern, "^(") && !strings.Contains(schema.Description, "--max-upload") {
			t.Errorf("%s has no maximum length", at)
		}
	case schema.Type.Is("integer"):
		if len(schema.Enum) == 0 && (schema.Max == nil || schema.Min == nil) {
			t.Errorf("%s has no minimum or maximum", at)
		}
	default:
		t.Errorf("%s is of type %v, want a string or an integer", at, schema.Type)
	}
}

// Bounds in the document are those of the code.
func TestBoundsAreThoseOfTheCode(t *testing.T) {
	document := load(t, all)
	schemas := document.Components.Schemas
	most := func(name string) uint64 { return *schemas[name].Value.MaxLength }
	registration := document.Paths.Value("/douyin/user/register/").Post.RequestBody.Value.Content["multipart/form-data"].Schema.Value.Properties
	for what, c := range map[string][2]uint64{
		"Title":     {most("Title"), storage.MaxTitleRunes},
		"Text":      {most("Text"), storage.MaxCommentRunes},
		"message":   {most("Text"), storage.MaxDirectMessageRunes},
		"RequestId": {most("RequestId"), storage.MaxRequestIDBytes},
		"Token":     {most("Token"), viewer.MaxTokenBytes},
		"Id":        {uint64(*schemas["Id"].Value.Max), storage.MaxCommentID - 1},
		"username":  {*registration["username"].Value.MaxLength, storage.MaxAccountNameRunes},
		"password":  {*registration["password"].Value.MaxLength, accounts.MaxPasswordRunes},
		"passwords": {registration["password"].Value.MinLength, accounts.MinPasswordRunes},
		"signature": {*schemas["User"].Value.Properties["signature"].Value.MaxLength, storage.MaxSignatureRunes},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: the document says %d, the code %d", what, c[0], c[1])
		}
	}
	var documented []string
	for _, code := range schemas["Errors"].Value.Properties["errors"].Value.Items.Value.Properties["extensions"].Value.Properties["code"].Value.Enum {
		documented = append(documented, code.(string))
	}
	// The codes of documents are of GraphQL alone.
	want := []string{codes.BadUserInput, codes.Internal, codes.LimitExceeded, codes.NotFound, codes.RateLimited, codes.Unauthenticated, codes.Unavailable}
	if slices.Sort(documented); !slices.Equal(documented, want) {
		t.Errorf("the codes of errors are %v, want %v", documented, want)
	}
	pictures := regexp.MustCompile(document.Components.Parameters["Picture"].Value.Schema.Value.Pattern)
	for n := range 2 * storage.Placeholders {
		if name := fmt.Sprintf("%d.png", n); pictures.MatchString(name) != (n < storage.Placeholders) {
			t.Errorf("the pattern of pictures matches %s: %t", name, n >= storage.Placeholders)
		}
	}
}
