package transport

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"ovation/resolvers/viewer"
)

// OriginOptions say which other web sites' pages may call the API.
type OriginOptions struct {
	// Allowed are origins as browsers name them ("https://app.example.com"), or
	// "*" for all. Each passes CheckOrigin.
	Allowed []string
	// Development admits pages of this machine too: of localhost and of loopback
	// addresses, on any port. Pages of other origins get an answer that says how
	// to admit them, over a WebSocket as well, where they would otherwise see a
	// failure without a reason.
	Development bool
	// Logger takes a warning for each origin whose pages are refused.
	// Nil: slog.Default().
	Logger *slog.Logger
}

// Origins decides which pages may call the API. A nil *Origins admits only
// those of the server's own origin, and logs no warnings.
//
// No credentials are ever allowed: viewers are known by tokens, not by cookies.
type Origins struct {
	OriginOptions

	mu     sync.Mutex
	warned map[string]struct{}
}

// NewOrigins returns Origins.
func NewOrigins(options OriginOptions) *Origins {
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	return &Origins{OriginOptions: options, warned: map[string]struct{}{}}
}

const (
	// maxWarnedOrigins is how many origins are named in the log, so that clients
	// that invent them do not fill it.
	maxWarnedOrigins = 100
	maxOriginBytes   = 256 // of an origin in the log
)

// CheckOrigin returns an error that says what is wrong with an entry of
// OriginOptions.Allowed, or nil.
func CheckOrigin(origin string) error {
	if origin == "*" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Contains(u.Host, "*") {
		return fmt.Errorf("%q is not an origin: write scheme://host or scheme://host:port, for example https://app.example.com, or * for all", origin)
	}
	host := strings.ToLower(u.Host)
	if defaults := map[string]string{"http": ":80", "https": ":443"}; u.Port() != "" {
		host = strings.TrimSuffix(host, defaults[u.Scheme])
	}
	if named := u.Scheme + "://" + host; named != origin {
		return fmt.Errorf("browsers do not name an origin %q: write %s", origin, named)
	}
	return nil
}

// admission is whether a page may call the API, and how far it is trusted.
type admission int

const (
	// pageRefused: the page may not call the API.
	pageRefused admission = iota
	// pageUnnamed: it may, as all pages of this machine, or all pages, may. Its
	// development headers are rejected.
	pageUnnamed
	// pageNamed: it is a page of this server, or of an origin allowed by name.
	// Clients other than browsers send no origin and are treated alike.
	pageNamed
)

// The header in which browsers state how the origin of a page relates to that of
// the requested URL, which scripts cannot set, and one of its values.
const (
	fetchSite  = "Sec-Fetch-Site"
	sameOrigin = "same-origin"
)

// admit decides whether the page that a request comes from may call the API.
func (o *Origins) admit(r *http.Request) admission {
	origin := r.Header.Get("Origin")
	if origin == "" || o != nil && slices.Contains(o.Allowed, origin) {
		return pageNamed
	}
	u, err := url.Parse(origin)
	switch {
	case err == nil && strings.EqualFold(u.Host, r.Host):
		return pageNamed
	case o == nil:
		return pageRefused
	case o.Development && r.Header.Get(fetchSite) == sameOrigin: // through a proxy that rewrites Host
		return pageNamed
	case slices.Contains(o.Allowed, "*") || o.Development && err == nil && ofThisMachine(u):
		return pageUnnamed
	}
	return pageRefused
}

func ofThisMachine(origin *url.URL) bool {
	name := origin.Hostname()
	ip, err := netip.ParseAddr(name)
	return (origin.Scheme == "http" || origin.Scheme == "https") && (name == "localhost" || err == nil && ip.IsLoopback())
}

// distrust returns why the development headers of a request, or of the WebSocket
// it opens, are rejected; nil if they are not.
func (o *Origins) distrust(auth *viewer.Authenticator, r *http.Request) *viewer.Error {
	if auth == nil {
		return nil
	}
	if distrusted := auth.Distrust(r); distrusted != nil || o.admit(r) == pageNamed {
		return distrusted
	}
	return viewer.ForeignPage(flag(r.Header.Get("Origin")))
}

// flag is what admits pages of an origin by name. Empty where no flag does.
func flag(origin string) string {
	if len(origin) > maxOriginBytes || CheckOrigin(origin) != nil { // for example "null", of a page that is a file
		return ""
	}
	return "--allowed-origins " + origin
}

// explain says why pages of an origin are refused, in few enough words for a
// close frame.
func (o *Origins) explain(origin string) string {
	switch by := flag(origin); {
	case o == nil || !o.Development:
		return "pages of this origin may not connect here; the server names those that may by --allowed-origins"
	case by == "":
		return "pages of this origin are refused: serve the page from http://localhost, on any port"
	default:
		return "pages of this origin are refused: start ovation dev with " + by
	}
}

// warn logs, once for each origin, that its pages are refused.
func (o *Origins) warn(origin string) {
	if o == nil {
		return
	}
	admits := flag(origin)
	if admits != "" && len(o.Allowed) > 0 { // the flag replaces what was set
		admits = "--allowed-origins " + strings.Join(o.Allowed, ",") + "," + origin
	}
	origin = origin[:min(len(origin), maxOriginBytes)]
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, before := o.warned[origin]; before || len(o.warned) >= maxWarnedOrigins {
		return
	}
	o.warned[origin] = struct{}{}
	o.Logger.Warn("pages of another origin are refused", "origin", origin, "to_admit_them", admits)
	if len(o.warned) == maxWarnedOrigins {
		o.Logger.Warn("further origins that are refused will not be logged", "logged", maxWarnedOrigins)
	}
}

// crossOrigin answers browsers that ask on behalf of pages of other origins.
type crossOrigin struct {
	*Origins

	next http.Handler
}

// varyOrigin is a header that responses share. Nobody changes it.
var varyOrigin = []string{"Origin"}

func (c *crossOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header, all := w.Header(), slices.Contains(c.Allowed, "*")
	if !all && (c.Development || len(c.Allowed) > 0) {
		header["Vary"] = varyOrigin
	}
	origin := r.Header.Get("Origin")
	if origin == "" || (WebSocket{}).Supports(r) { // which decides for itself
		c.next.ServeHTTP(w, r)
		return
	}
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	admitted := c.admit(r)
	if admitted == pageRefused && (c.Development || preflight || fromElsewhere(r)) {
		c.warn(origin)
	}
	switch {
	case all:
		header.Set("Access-Control-Allow-Origin", "*")
	case c.Development || slices.Contains(c.Allowed, origin):
		header.Set("Access-Control-Allow-Origin", origin)
	case preflight && len(c.Allowed) > 0:
		WriteError(w, r, http.StatusForbidden, codeBadUserInput, c.explain(origin))
		return
	default: // the browser keeps the answer from the page
		c.next.ServeHTTP(w, r)
		return
	}
	switch {
	case preflight:
		c.allow(header, admitted)
		w.WriteHeader(http.StatusNoContent)
	case admitted == pageRefused: // in development: the page may read why, and nothing is executed
		WriteError(w, r, http.StatusForbidden, codeBadUserInput, c.explain(origin))
	default:
		c.next.ServeHTTP(w, r)
	}
}

// allow says what a page may send.
func (c *crossOrigin) allow(header http.Header, admitted admission) {
	allowed := "Accept, Authorization, Content-Type"
	if c.Development || admitted == pageNamed { // nobody means to let every web site say who its visitors are
		allowed += ", X-Ovation-User, X-Ovation-Tenant"
	}
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	header.Set("Access-Control-Allow-Headers", allowed)
	header.Set("Access-Control-Max-Age", "600")
}

// fromElsewhere reports whether a browser says that a page of another origin
// asks. One that says nothing may be behind a proxy that rewrites Host.
func fromElsewhere(r *http.Request) bool {
	site := r.Header.Get(fetchSite)
	return site == "cross-site" || site == "same-site"
}
