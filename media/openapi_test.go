package media

import (
	"maps"
	"slices"
	"testing"

	"ovation/internal/testing/must"
	"ovation/internal/testing/openapitest"
	"ovation/storage"
)

// The OpenAPI document has the upload and every folder of files, with the types of the
// files, and no other path.
func TestDocumentHasEveryFile(t *testing.T) {
	document, err := openapitest.Load()
	must.Succeed(t, err)
	want := map[string][]string{
		storage.MediaPath + "videos post":                {"application/json"},
		storage.MediaPath + "avatars post":               {"application/json"},
		storage.MediaPath + "placeholders/{picture} get": {"image/png"},
	}
	for folder, byExtension := range types {
		want[storage.MediaPath+folder+"/{file} get"] = slices.Sorted(maps.Values(byExtension))
	}
	got := map[string][]string{}
	for path, item := range document.Paths {
		if path[:min(len(path), len(storage.MediaPath))] != storage.MediaPath {
			continue
		}
		for method, op := range item {
			for _, status := range []string{"200", "201"} {
				if response, is := op.Responses[status].(map[string]any); is {
					got[path+" "+method] = slices.Sorted(maps.Keys(response["content"].(map[string]any)))
				}
			}
		}
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the document has %v, want %v", got, want)
	}
}
