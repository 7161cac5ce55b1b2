package transport

import (
	"net/http"
	"strings"
)

// requestHeaders is the header in which a preflight names the headers that a page wants
// to send.
const requestHeaders = "Access-Control-Request-Headers"

const (
	// preflightSeconds is how long a browser may keep the response to a preflight.
	// Chromium keeps it for at most two hours, whatever the response says.
	preflightSeconds = "7200"
	// maxPageHeaders and maxPageHeaderBytes bound the names in a preflight that its
	// response repeats. If there are more, only pageHeaders are allowed.
	maxPageHeaders     = 64
	maxPageHeaderBytes = 2048
	// pageHeaders are allowed in every preflight of a page that may call the API.
	pageHeaders = "Accept, Authorization, Content-Type"
	// devHeaders are the development headers.
	devHeaders = "X-Ovation-User, X-Ovation-Tenant"
)

// allow sets the headers of a preflight response, which say what a page may send: every
// header that the page asks for, except those by which the server would trust a page more
// than it may. Pages that are refused do not get this far, except in development, where
// the response to their request explains the refusal.
func (c *crossOrigin) allow(header http.Header, r *http.Request, admitted admission) {
	allowed := requestedHeaders(r)
	if c.Development || admitted == pageNamed { // "*" must not let every web site choose its visitors' users
		allowed = append(allowed, devHeaders)
	}
	allowed = append(allowed, pageHeaders)
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	header.Set("Access-Control-Allow-Headers", strings.Join(allowed, ", "))
	header.Set("Access-Control-Max-Age", preflightSeconds)
}

// requestedHeaders returns the names of the headers that the page of a preflight wants to
// send, without those that serverHeader reports. It returns nothing if the list is
// malformed or too long.
func requestedHeaders(r *http.Request) (names []string) {
	list := strings.Join(r.Header.Values(requestHeaders), ",")
	if len(list) > maxPageHeaderBytes || strings.Count(list, ",") >= maxPageHeaders {
		return nil
	}
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.Trim(name, " \t"); {
		case name == "":
		case !isToken(name):
			return nil
		case !serverHeader(name):
			names = append(names, name)
		}
	}
	return names
}

// serverHeader reports whether a header's meaning is determined by the server and not by
// the page: the headers of this server, which allow adds if they are accepted, and those
// in which a proxy names its client.
func serverHeader(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "x-ovation-") || strings.HasPrefix(name, "x-forwarded-") || name == "forwarded" || name == "x-real-ip"
}

// isToken reports whether a name has only the characters that RFC 9110 allows in header
// names.
func isToken(name string) bool {
	return strings.Trim(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
