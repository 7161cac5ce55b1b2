package transport

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// origins answers browsers that ask on behalf of pages of other origins. No
// credentials are ever allowed: viewers are known by tokens, not by cookies.
type origins struct {
	next    http.Handler
	allowed map[string]bool
	all     bool
}

func newOrigins(allowed []string, next http.Handler) *origins {
	o := &origins{next: next, allowed: map[string]bool{}, all: slices.Contains(allowed, "*")}
	for _, origin := range allowed {
		o.allowed[origin] = true
	}
	return o
}

// CheckOrigin returns an error that says what is wrong with an entry of
// Config.AllowedOrigins, or nil.
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

func (o *origins) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	preflight := r.Method == http.MethodOptions && origin != "" && r.Header.Get("Access-Control-Request-Method") != ""
	header := w.Header()
	if !o.all {
		header.Add("Vary", "Origin")
	}
	switch {
	case origin != "" && o.all:
		header.Set("Access-Control-Allow-Origin", "*")
	case origin != "" && o.allowed[origin]:
		header.Set("Access-Control-Allow-Origin", origin)
	case preflight:
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if !preflight {
		o.next.ServeHTTP(w, r)
		return
	}
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	allowed := "Accept, Authorization, Content-Type"
	if !o.all { // nobody means to let every web site say who its visitors are
		allowed += ", X-Ovation-User, X-Ovation-Tenant"
	}
	header.Set("Access-Control-Allow-Headers", allowed)
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
