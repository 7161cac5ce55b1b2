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

	"ovation/api/codes"
	"ovation/api/viewer"
)

// OriginOptions determines which pages of other web sites may call the API.
type OriginOptions struct {
	// Allowed are origins as browsers send them ("https://app.example.com"), or "*" for
	// all. CheckOrigin must accept each entry.
	Allowed []string
	// Development also admits pages from this machine: from localhost and from loopback
	// addresses, on any port. Pages of other origins receive a response that says how to
	// admit them. A WebSocket from such a page is opened and then closed with this
	// explanation, because browsers hide the response to a failed handshake from the
	// page.
	Development bool
	// Logger logs a warning for each origin whose pages are refused. If it is nil,
	// slog.Default() is used.
	Logger *slog.Logger
}

// Origins decides which pages may call the API. A nil *Origins admits only pages of the
// server's own origin, and logs no warnings.
//
// Browsers are never allowed to send cookies with requests from other origins: viewers
// are identified by tokens.
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
	// maxWarnedOrigins is the maximum number of origins named in the log, so that clients
	// cannot fill the log with invented origins.
	maxWarnedOrigins = 100
	maxOriginBytes   = 256 // of an origin in the log
)

// CheckOrigin returns nil if an entry of OriginOptions.Allowed is valid, and otherwise an
// error with the reason.
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

// admission states whether a page may call the API, and how far the page is trusted.
type admission int

const (
	// pageRefused means that the page may not call the API.
	pageRefused admission = iota
	// pageUnnamed means that the page may call the API, but its origin is not allowed by
	// name. It is admitted because all pages are, or all pages of this machine. The
	// development headers of its requests are rejected.
	pageUnnamed
	// pageNamed means that the page belongs to this server, or that its origin is
	// allowed by name. Clients other than browsers send no origin and are treated in the
	// same way.
	pageNamed
)

// The header in which browsers state how a page's origin relates to the origin of the
// requested URL, and one of its values. Scripts cannot set this header.
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
	case slices.Contains(o.Allowed, "*") || o.Development && err == nil && isLoopback(u):
		return pageUnnamed
	}
	return pageRefused
}

func isLoopback(origin *url.URL) bool {
	name := origin.Hostname()
	ip, err := netip.ParseAddr(name)
	return (origin.Scheme == "http" || origin.Scheme == "https") && (name == "localhost" || err == nil && ip.IsLoopback())
}

// distrust returns the reason why the development headers of a request are rejected, or
// nil if they are not. It applies to the headers in connection_init, too.
func (o *Origins) distrust(auth *viewer.Authenticator, r *http.Request) *viewer.Error {
	if auth == nil {
		return nil
	}
	if distrusted := auth.Distrust(r); distrusted != nil || o.admit(r) == pageNamed {
		return distrusted
	}
	return viewer.ForeignPage(flag(r.Header.Get("Origin")))
}

// flag returns the command-line flag that admits pages of an origin by name, or "" if
// there is none.
func flag(origin string) string {
	if len(origin) > maxOriginBytes || CheckOrigin(origin) != nil { // for example "null", which pages opened from a file send
		return ""
	}
	return "--allowed-origins " + origin
}

// explain returns the reason why pages of an origin are refused, short enough for a close
// frame.
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
	if admits != "" && len(o.Allowed) > 0 { // the flag replaces the current value
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

// crossOrigin handles requests from pages of other origins, and their preflights.
type crossOrigin struct {
	*Origins

	next http.Handler
}

// varyOrigin is a header value shared by all responses. It is never modified.
var varyOrigin = []string{"Origin"}

func (c *crossOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header, all := w.Header(), slices.Contains(c.Allowed, "*")
	if !all && (c.Development || len(c.Allowed) > 0) {
		header["Vary"] = varyOrigin
	}
	origin := r.Header.Get("Origin")
	if origin == "" || (WebSocket{}).Supports(r) { // WebSocket.Do checks the origin itself
		c.next.ServeHTTP(w, r)
		return
	}
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if preflight { // the response repeats the names of the request's headers
		header["Vary"] = append(slices.Clip(header["Vary"]), requestHeaders)
	}
	admitted := c.admit(r)
	if admitted == pageRefused && (c.Development || preflight || isCrossOrigin(r)) {
		c.warn(origin)
	}
	switch {
	case all:
		header.Set("Access-Control-Allow-Origin", "*")
	case c.Development || slices.Contains(c.Allowed, origin):
		header.Set("Access-Control-Allow-Origin", origin)
	case preflight && len(c.Allowed) > 0:
		WriteError(w, r, http.StatusForbidden, codes.BadUserInput, c.explain(origin))
		return
	default: // the browser does not show the response to the page
		c.next.ServeHTTP(w, r)
		return
	}
	switch {
	case preflight:
		c.allow(header, r, admitted)
		w.WriteHeader(http.StatusNoContent)
	case admitted == pageRefused: // in development: the page can read the reason
		WriteError(w, r, http.StatusForbidden, codes.BadUserInput, c.explain(origin))
	default:
		c.next.ServeHTTP(w, r)
	}
}

// isCrossOrigin reports whether Sec-Fetch-Site states that a request is from a page of
// another origin. If the header is missing, isCrossOrigin returns false, because the page
// may be one that the server itself delivered through a proxy that rewrites Host.
func isCrossOrigin(r *http.Request) bool {
	site := r.Header.Get(fetchSite)
	return site == "cross-site" || site == "same-site"
}
