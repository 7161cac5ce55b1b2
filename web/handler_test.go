package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

// built returns a small version of the files that npm builds.
func built() fs.FS {
	return filesOf(map[string]string{
		"placeholder.html":        "<p>not built</p>",
		"graphiql/index.html":     "<p>GraphiQL</p>",
		"demo/index.html":         "<p>Demo</p>",
		"data/index.html":         "<p>Data</p>",
		"licenses.md":             "# Licenses",
		"assets/main-abc.js":      "let long = 'script'",
		"assets/main-abc.js.gz":   "pretend gzip",
		"assets/style-abc.css.gz": "gzip of styles",
		"assets/style-abc.css.br": "brotli of styles",
		"assets/style-abc.css":    "body {}",
		"assets/icon-abc.svg":     "<svg/>",
		"assets/font-abc.woff2":   "letters",
		"assets/strange-abc.what": "?",
	})
}

func notBuilt() fs.FS {
	return filesOf(map[string]string{"placeholder.html": "<p>not built</p>"})
}

func filesOf(contents map[string]string) fs.FS {
	files := fstest.MapFS{}
	for name, content := range contents {
		file := new(fstest.MapFile)
		file.Data = []byte(content)
		files[name] = file
	}
	return files
}

func newHandler(t *testing.T, files fs.FS) http.Handler {
	t.Helper()
	h, err := Handler(files, Options{Data: true})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request. header lists names, each followed by its value.
func ask(h http.Handler, method, target string, header ...string) answer {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

func TestAnswersWithTheRightFileTypeAndLifetime(t *testing.T) {
	const forever, asked = "public, max-age=31536000, immutable", "no-cache"
	tests := []struct {
		name, method, path string
		files              fs.FS
		status             int
		kind, lifetime     string
		body               string
	}{
		{"the page", "GET", "/", built(), 200, "text/html; charset=utf-8", asked, "<p>GraphiQL</p>"},
		{"the page with a query", "GET", "/?query=%7B__typename%7D&user=alice", built(), 200, "text/html; charset=utf-8", asked, "<p>GraphiQL</p>"},
		{"the head of the page", "HEAD", "/", built(), 200, "text/html; charset=utf-8", asked, ""},
		{"the placeholder where nothing is built", "GET", "/", notBuilt(), 200, "text/html; charset=utf-8", asked, "<p>not built</p>"},
		{"the demo", "GET", "/demo", built(), 200, "text/html; charset=utf-8", asked, "<p>Demo</p>"},
		{"the data page", "GET", "/data", built(), 200, "text/html; charset=utf-8", asked, "<p>Data</p>"},
		{"the placeholder in place of the demo", "GET", "/demo", notBuilt(), 200, "text/html; charset=utf-8", asked, "<p>not built</p>"},
		{"the licences", "GET", "/licenses", built(), 200, "text/plain; charset=utf-8", asked, "# Licenses"},
		{"a script", "GET", "/assets/main-abc.js", built(), 200, "text/javascript; charset=utf-8", forever, "let long = 'script'"},
		{"a stylesheet", "GET", "/assets/style-abc.css", built(), 200, "text/css; charset=utf-8", forever, "body {}"},
		{"an icon", "GET", "/assets/icon-abc.svg", built(), 200, "image/svg+xml", forever, "<svg/>"},
		{"a font", "GET", "/assets/font-abc.woff2", built(), 200, "font/woff2", forever, "letters"},
		{"an unknown kind of file", "GET", "/assets/strange-abc.what", built(), 200, "application/octet-stream", forever, "?"},
		{"an unknown path", "GET", "/favicon.ico", built(), 404, "text/plain; charset=utf-8", "", "there is no such page; the demo is at /demo, GraphiQL at /, the API at /graphql\n"},
		{"a file that is not a page", "GET", "/placeholder.html", built(), 404, "text/plain; charset=utf-8", "", "there is no such page; the demo is at /demo, GraphiQL at /, the API at /graphql\n"},
		{"the compressed form by its own name", "GET", "/assets/main-abc.js.gz", built(), 404, "text/plain; charset=utf-8", "", "there is no such page; the demo is at /demo, GraphiQL at /, the API at /graphql\n"},
		{"a folder", "GET", "/assets/", built(), 404, "text/plain; charset=utf-8", "", "there is no such page; the demo is at /demo, GraphiQL at /, the API at /graphql\n"},
		{"a path outside the assets", "GET", "/assets/../placeholder.html", built(), 404, "text/plain; charset=utf-8", "", "there is no such page; the demo is at /demo, GraphiQL at /, the API at /graphql\n"},
		{"an asset where nothing is built", "GET", "/assets/main-abc.js", notBuilt(), 404, "text/plain; charset=utf-8", "", "there is no such page; the demo is at /demo, GraphiQL at /, the API at /graphql\n"},
		{"another method", "POST", "/", built(), 405, "text/plain; charset=utf-8", "", "only GET and HEAD are answered here; the API is at /graphql\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ask(newHandler(t, tt.files), tt.method, tt.path)
			if got.status != tt.status {
				t.Errorf("%s %s: got status %d, want %d", tt.method, tt.path, got.status, tt.status)
			}
			if kind := got.header.Get("Content-Type"); kind != tt.kind {
				t.Errorf("%s %s: got Content-Type %q, want %q", tt.method, tt.path, kind, tt.kind)
			}
			if lifetime := got.header.Get("Cache-Control"); lifetime != tt.lifetime {
				t.Errorf("%s %s: got Cache-Control %q, want %q", tt.method, tt.path, lifetime, tt.lifetime)
			}
			if got.body != tt.body {
				t.Errorf("%s %s: got body %q, want %q", tt.method, tt.path, got.body, tt.body)
			}
		})
	}
}

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
	want := map[string]string{
		"Cross-Origin-Opener-Policy": "same-origin",
		"Referrer-Policy":            "no-referrer",
		"X-Content-Type-Options":     "nosniff",
		"X-Frame-Options":            "DENY",
	}
	h := newHandler(t, built())
	for _, path := range []string{"/", "/demo", "/assets/main-abc.js", "/nothing"} {
		got := ask(h, "GET", path)
		for name, value := range want {
			if header := got.header.Get(name); header != value {
				t.Errorf("%s: got %s %q, want %q", path, name, header, value)
			}
		}
	}
	for path, loose := range map[string]bool{"/": true, "/demo": false, "/assets/main-abc.js": false, "/nothing": false} {
		got := ask(h, "GET", path).header.Get("Content-Security-Policy")
		if !strings.Contains(got, "; media-src 'self' blob:;") {
			t.Errorf("%s: got the policy %q, want media-src 'self' blob: in it", path, got)
		}
		if !strings.HasPrefix(got, "default-src 'none'; script-src 'self'; style-src 'self'") || strings.Contains(got, "unsafe-inline") != loose {
			t.Errorf("%s: got the policy %q, want none but own scripts and styles, unsafe-inline: %t", path, got, loose)
		}
	}
	if got := ask(h, "DELETE", "/"); got.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE /: got Allow %q, want \"GET, HEAD\"", got.header.Get("Allow"))
	}
}

func TestCompressedFilesAreSentIfAccepted(t *testing.T) {
	tests := []struct {
		accept string
		gzip   bool
	}{
		{"", false},
		{"gzip", true},
		{"gzip, deflate, br, zstd", true},
		{"br;q=1.0, GZIP;q=0.8", true},
		{"deflate, gzip;q=0", false},
		{"gzip; q=0.000", false},
		{"br", false},
		{"*", false},
	}
	h := newHandler(t, built())
	for _, tt := range tests {
		t.Run(tt.accept, func(t *testing.T) {
			got := ask(h, "GET", "/assets/main-abc.js", "Accept-Encoding", tt.accept)
			want, encoding := "let long = 'script'", ""
			if tt.gzip {
				want, encoding = "pretend gzip", "gzip"
			}
			if coding := got.header.Get("Content-Encoding"); coding != encoding {
				t.Errorf("got Content-Encoding %q, want %q", coding, encoding)
			}
			if got.body != want {
				t.Errorf("got body %q, want %q", got.body, want)
			}
			if vary := got.header.Get("Vary"); vary != "Accept-Encoding" {
				t.Errorf("got Vary %q, want Accept-Encoding", vary)
			}
		})
	}
}

func TestBrotliIsPreferredToGzip(t *testing.T) {
	h := newHandler(t, built())
	tags := map[string]bool{}
	for accept, want := range map[string][2]string{
		"": {"", "body {}"}, "gzip, br": {"br", "brotli of styles"}, "gzip, br;q=0": {"gzip", "gzip of styles"}, "br": {"br", "brotli of styles"},
	} {
		got := ask(h, "GET", "/assets/style-abc.css", "Accept-Encoding", accept)
		if coding := got.header.Get("Content-Encoding"); coding != want[0] || got.body != want[1] {
			t.Errorf("accepting %q: got %q in the coding %q, want %q in %q", accept, got.body, coding, want[1], want[0])
		}
		tags[got.header.Get("ETag")] = true
	}
	if len(tags) != 3 {
		t.Errorf("the three forms have the ETags %v, want three", tags)
	}
}

func TestAnUnchangedPageIsNotSentTwice(t *testing.T) {
	h := newHandler(t, built())
	first := ask(h, "GET", "/assets/main-abc.js")
	packed := ask(h, "GET", "/assets/main-abc.js", "Accept-Encoding", "gzip")
	if first.header.Get("ETag") == packed.header.Get("ETag") {
		t.Errorf("both forms have the ETag %q, want two", first.header.Get("ETag"))
	}
	again := ask(h, "GET", "/assets/main-abc.js", "If-None-Match", first.header.Get("ETag"))
	if again.status != http.StatusNotModified || again.body != "" {
		t.Errorf("If-None-Match with the current ETag: got status %d, %q, want 304 without a body", again.status, again.body)
	}
	page := ask(h, "GET", "/")
	other := ask(newHandler(t, notBuilt()), "GET", "/", "If-None-Match", page.header.Get("ETag"))
	if other.status != http.StatusOK {
		t.Errorf("If-None-Match for a page that has changed: got status %d, want 200", other.status)
	}
}

// The demo page is marked if, and only if, the server accepts names without proof.
func TestDemoPageStatesWhetherNamesAreAccepted(t *testing.T) {
	files := filesOf(map[string]string{
		"placeholder.html": "<p>not built</p>", "demo/index.html": `<!doctype html><html lang="en">`, "demo/index.html.gz": "pretend gzip",
	})
	tags := map[string]bool{}
	for names, want := range map[bool]string{true: `<!doctype html><html data-accepts-names lang="en">`, false: "pretend gzip"} {
		h, err := Handler(files, Options{Names: names})
		if err != nil {
			t.Fatal(err)
		}
		got := ask(h, "GET", "/demo", "Accept-Encoding", "gzip")
		if got.body != want {
			t.Errorf("with names accepted: %v, the page is %q, want %q", names, got.body, want)
		}
		tags[got.header.Get("ETag")] = true
	}
	if len(tags) != 2 {
		t.Errorf("both pages have the ETags %v, want two", tags)
	}
}

// The data page is marked if, and only if, the database may have the demo data.
func TestTheDataPageStatesWhetherItShowsTheDemo(t *testing.T) {
	files := filesOf(map[string]string{"placeholder.html": "<p>not built</p>", "data/index.html": `<!doctype html><html lang="en">`})
	for demo, want := range map[bool]string{true: `<!doctype html><html data-demo lang="en">`, false: `<!doctype html><html lang="en">`} {
		h, err := Handler(files, Options{Data: true, Demo: demo})
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(h, "GET", "/data"); got.body != want {
			t.Errorf("with demo data: %v, the page is %q, want %q", demo, got.body, want)
		}
	}
}

func TestFilesWithoutPlaceholderAreRefused(t *testing.T) {
	_, err := Handler(fstest.MapFS{}, Options{})
	if err == nil || !strings.Contains(err.Error(), "read the page at /") {
		t.Errorf("Handler without a placeholder = %v, want an error that names the page at /", err)
	}
}

// The files of this build are served: the pages themselves, or the placeholder.
func TestServesTheBuiltFiles(t *testing.T) {
	h := newHandler(t, Files())
	got := ask(h, "GET", "/")
	if got.status != http.StatusOK || !strings.Contains(got.body, "<title>Ovation</title>") {
		t.Errorf("GET / = %d, %.200q, want 200, titled Ovation", got.status, got.body)
	}
	assets, err := fs.Glob(Files(), assetsDir+"*.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range assets {
		name = "/" + strings.TrimSuffix(name, ".gz")
		plain := ask(h, "GET", name).body
		unzipped, err := gzip.NewReader(bytes.NewBufferString(ask(h, "GET", name, "Accept-Encoding", "gzip").body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b, err := io.ReadAll(unzipped); err != nil || string(b) != plain {
			t.Errorf("%s: the compressed form is not the file (%v)", name, err)
		}
	}
}

func TestBuiltDistinguishesThePageFromThePlaceholder(t *testing.T) {
	if !Built(built()) || Built(notBuilt()) {
		t.Errorf("Built = %v for built pages and %v for the placeholder, want true, false", Built(built()), Built(notBuilt()))
	}
}

func TestTheDataPageIsForDevelopmentOnly(t *testing.T) {
	h, err := Handler(built(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for path, status := range map[string]int{"/": 200, "/demo": 200, "/data": 404, "/data/": 404} {
		got := ask(h, "GET", path)
		if got.status != status || strings.HasPrefix(path, "/data") != strings.Contains(got.body, "part of ovation dev only") {
			t.Errorf("%s: got status %d, want %d, and the notice of ovation dev for /data only: %q", path, got.status, status, got.body)
		}
	}
}

func TestPageIsFoundWithATrailingSlash(t *testing.T) {
	h := newHandler(t, built())
	for path, to := range map[string]string{"/demo/": "/demo", "/demo/?a=1": "/demo?a=1", "/data/": "/data", "/licenses/": "/licenses"} {
		if got := ask(h, "GET", path); got.status != 308 || got.header.Get("Location") != to {
			t.Errorf("%s: got status %d, to %q, want 308, to %q", path, got.status, got.header.Get("Location"), to)
		}
	}
	for _, path := range []string{"/nothing/", "//evil.example/", "/assets/main-abc.js/"} {
		if got := ask(h, "GET", path); got.status != 404 {
			t.Errorf("%s: got status %d, want 404", path, got.status)
		}
	}
}
