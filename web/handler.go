package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// pages maps paths to files. A page whose file was not built is replaced by the
// placeholder.
var pages = map[string]string{
	"/":         "graphiql/index.html",
	demoPage:    "demo/index.html",
	"/licenses": "licenses.md", // licences of the packages that are bundled with the pages
}

// demoPage is the path of the demo. If the server accepts names without proof, Handler
// adds namesAttribute to the root element of the demo, which then sends requests as a
// named user.
const (
	demoPage       = "/demo"
	namesAttribute = "data-accepts-names"
)

// dataPage is the path of the page that exists only in development; dataFile is its file.
// If the database may have the demo data, Handler adds demoAttribute to the root element
// of the page, which then shows the titles of the demo's items.
const (
	dataPage      = "/data"
	dataFile      = "data/index.html"
	demoAttribute = "data-demo"
)

const (
	placeholder = "placeholder.html"
	assetsDir   = "assets/" // files in it have a hash of their content in their names
)

// codings are the content codings of compressed files, the one to prefer first, and the
// suffixes of their names.
var codings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// policy is the Content-Security-Policy of the pages. It lets pages load files only from
// their own origin and connect only to that origin. It forbids inline scripts and styles.
var policy = strings.Join([]string{
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"img-src 'self'",
	"media-src 'self' blob:", // blob: is a file that the user has chosen, before it is uploaded
	"font-src 'self'",
	"connect-src 'self'",
	"base-uri 'none'",
	"form-action 'none'",
	"frame-ancestors 'none'",
}, "; ")

// graphiQLPolicy is the policy of GraphiQL, whose dialogs insert style elements and whose
// stylesheet contains icons as data: images.
var graphiQLPolicy = strings.NewReplacer(
	"style-src 'self'", "style-src 'self' 'unsafe-inline'",
	"img-src 'self'", "img-src 'self' data:",
).Replace(policy)

// policyAt returns the policy of the response at a path.
func policyAt(path string) string {
	if path == "/" {
		return graphiQLPolicy
	}
	return policy
}

// handler maps paths to files. It responds from memory, because all of dist is small.
type handler map[string]*file

// file is a page or an asset, with the headers of its response.
type file struct {
	content  []byte
	packed   map[string][]byte // compressed content, by coding
	kind     string            // Content-Type
	etag     string            // of content; quoted
	lifetime string            // Cache-Control
}

// Options select features for development.
type Options struct {
	Data  bool // serve the data page
	Demo  bool // the database may have the demo data
	Names bool // the server accepts the names of users without proof
}

// Handler returns a handler that serves the pages and their assets from files, usually
// the result of Files. It returns an error if both a page and the placeholder are
// missing, or if files cannot be read.
//
// The handler answers only GET and HEAD. Assets may be cached forever; pages are
// revalidated each time. A file is sent compressed, by Brotli or else gzip, if a file of
// the same name with the suffix .br or .gz is next to it and the client accepts that.
func Handler(files fs.FS, o Options) (http.Handler, error) {
	h, pages := handler{}, maps.Clone(pages)
	if o.Data {
		pages[dataPage] = dataFile
	}
	for _, where := range slices.Sorted(maps.Keys(pages)) {
		page, err := readFile(files, pages[where])
		if errors.Is(err, fs.ErrNotExist) {
			page, err = readFile(files, placeholder)
		}
		if err != nil {
			return nil, fmt.Errorf("read the page at %s: %w", where, err)
		}
		h[where] = page
	}
	if o.Names {
		h[demoPage] = h[demoPage].withAttribute(namesAttribute)
	}
	if o.Data && o.Demo {
		h[dataPage] = h[dataPage].withAttribute(demoAttribute)
	}
	assets, err := fs.Glob(files, assetsDir+"*")
	if err != nil {
		return nil, fmt.Errorf("list the assets of the pages: %w", err)
	}
	for _, name := range assets {
		if isPacked(name) {
			continue
		}
		asset, err := readFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the assets of the pages: %w", err)
		}
		h["/"+name] = asset
	}
	return h, nil
}

func readFile(files fs.FS, name string) (*file, error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	packed := map[string][]byte{}
	for _, coding := range codings {
		smaller, err := fs.ReadFile(files, name+coding.suffix)
		if err == nil {
			packed[coding.name] = smaller
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	f := &file{
		content:  content,
		packed:   packed,
		kind:     contentType(name),
		etag:     etagOf(content),
		lifetime: "no-cache",
	}
	if strings.HasPrefix(name, assetsDir) {
		f.lifetime = "public, max-age=31536000, immutable"
	}
	return f, nil
}

// isPacked reports whether a file is the compressed form of another one.
func isPacked(name string) bool {
	for _, coding := range codings {
		if strings.HasSuffix(name, coding.suffix) {
			return true
		}
	}
	return false
}

func etagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// withAttribute returns the page with an attribute on its root element. The page is
// small, so it is not compressed again.
func (f *file) withAttribute(attribute string) *file {
	m := *f
	m.content, m.packed = bytes.Replace(f.content, []byte("<html"), []byte("<html "+attribute), 1), nil
	m.etag = etagOf(m.content)
	return &m
}

// kinds maps extensions to the content types of the files that the build produces. They
// take precedence over the machine's tables, which may differ.
var kinds = map[string]string{
	".html":  "text/html; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".md":    "text/plain; charset=utf-8", // browsers offer to save text/markdown
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
}

func contentType(name string) string {
	ext := path.Ext(name)
	return cmp.Or(kinds[ext], mime.TypeByExtension(ext), "application/octet-stream")
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policyAt(r.URL.Path))
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")

	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered here; the API is at /graphql", http.StatusMethodNotAllowed)
		return
	}
	f, found := h[r.URL.Path]
	if page, slash := strings.CutSuffix(r.URL.Path, "/"); !found && slash && h[page] != nil && !strings.HasPrefix(page, "/"+assetsDir) {
		r.URL.Path = page
		http.Redirect(w, r, r.URL.String(), http.StatusPermanentRedirect) //nolint:gosec // page is a path of pages
		return
	}
	if !found {
		missing := "there is no such page"
		if strings.TrimSuffix(r.URL.Path, "/") == dataPage {
			missing = "the data page is part of ovation dev only: it shows private data of users"
		}
		http.Error(w, missing+"; the demo is at /demo, GraphiQL at /, the API at /graphql", http.StatusNotFound)
		return
	}
	f.serve(w, r)
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", f.lifetime)
	header.Set("Content-Type", f.kind)
	content, etag := f.content, f.etag
	if len(f.packed) > 0 {
		header.Set("Vary", "Accept-Encoding")
	}
	for _, coding := range codings {
		if packed := f.packed[coding.name]; packed != nil && accepts(r.Header.Values("Accept-Encoding"), coding.name) {
			header.Set("Content-Encoding", coding.name)
			content, etag = packed, strings.TrimSuffix(etag, `"`)+"-"+coding.name+`"`
			break
		}
	}
	header.Set("ETag", etag)
	// ServeContent handles HEAD, conditional requests and ranges. Without a modification
	// time it compares only the ETag.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// accepts reports whether a list such as "br;q=1.0, gzip;q=0.8" allows a coding. A quality
// of 0 forbids it; a wildcard does not allow it.
func accepts(accept []string, coding string) bool {
	for _, line := range accept {
		for one := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(name), coding) {
				continue
			}
			quality, given := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q=")
			return !given || strings.Trim(quality, "0. ") != ""
		}
	}
	return false
}
