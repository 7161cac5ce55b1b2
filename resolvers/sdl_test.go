package resolvers_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"ovation/internal/testing/must"
	"ovation/resolvers"
)

func TestTheSchemaIsCompressedIfAccepted(t *testing.T) {
	s := start(t)
	for accept, coding := range map[string]string{"identity": "", "deflate, gzip;q=0": "", "gzip, deflate, br": "gzip"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/schema.graphqls", http.NoBody)
		must.Succeed(t, err)
		r.Header.Set("Accept-Encoding", accept) // so that the client leaves the response as it is
		response, err := http.DefaultClient.Do(r)
		must.Succeed(t, err)
		var body io.Reader = response.Body
		if is := response.Header.Get("Content-Encoding"); is != coding {
			t.Errorf("accepting %q: got the coding %q, want %q", accept, is, coding)
		} else if is == "gzip" {
			body, err = gzip.NewReader(response.Body)
			must.Succeed(t, err)
		}
		text, err := io.ReadAll(body)
		must.Succeed(t, err)
		must.Succeed(t, response.Body.Close())
		if string(text) != resolvers.SDL() {
			t.Errorf("accepting %q: got %d bytes, want the %d of the schema", accept, len(text), len(resolvers.SDL()))
		}
	}
}
