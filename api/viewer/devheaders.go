package viewer

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"ovation/storage"
)

// DevHeaders is the policy for the development headers X-Ovation-User and
// X-Ovation-Tenant, which name a user without proof.
type DevHeaders int

const (
	// IgnoreDevHeaders ignores the headers.
	IgnoreDevHeaders DevHeaders = iota
	// RefuseDevHeaders rejects requests that have the headers. The error explains how to
	// authenticate.
	RefuseDevHeaders
	// LocalDevHeaders accepts the headers if the Host header names this machine and there
	// is no evidence of a proxy. This protects against web pages whose host name resolves
	// to a loopback address (DNS rebinding). The server must listen on a loopback address
	// only.
	LocalDevHeaders
	// TrustDevHeaders accepts the headers from every client, unless there is evidence of
	// a proxy.
	TrustDevHeaders
)

// The development headers.
const (
	userHeader   = "X-Ovation-User"
	tenantHeader = "X-Ovation-Tenant"
)

// ForeignPage returns the error for development headers from a page of another origin.
// The parameter flag is the command-line flag that would allow the origin, or "" if there
// is none.
func ForeignPage(flag string) *Error {
	if flag == "" {
		return refuse("X-Ovation-User is not accepted from pages of this origin: send a bearer token")
	}
	return refuse("X-Ovation-User is not accepted from other origins: add %s, or send a token", flag)
}

// Distrust returns the reason why the development headers in a request must be rejected,
// or nil if there is none. Requests with evidence of a proxy are always distrusted,
// because any client may have sent them.
func (a *Authenticator) Distrust(r *http.Request) *Error {
	switch {
	case a.devHeaders == RefuseDevHeaders:
		return refuse("X-Ovation-User is off: ovation dev accepts it with --dev-headers or --demo, and only on a loopback address. Send a bearer token (Authorization: Bearer …)")
	case a.devHeaders == LocalDevHeaders && !isLocalHost(r.Host):
		return refuse("X-Ovation-User is accepted only from this machine, at localhost or 127.0.0.1: send a bearer token")
	}
	if sign := proxySign(r); sign != "" {
		a.warnOfProxy.Do(func() {
			a.log.Warn("X-Ovation-User is rejected: the request came through a proxy, so its sender is unknown", "sign", sign)
		})
		return refuse("X-Ovation-User is not accepted through a proxy (the request has %s): send a bearer token", sign)
	}
	return nil
}

// proxySign returns the evidence that a request came through a proxy, or "" if there is
// none. A proxy need not leave any evidence.
func proxySign(r *http.Request) string {
	if r.ProtoMajor == 1 && r.ProtoMinor == 0 {
		return "HTTP/1.0" // the default of nginx, which adds no header
	}
	for name := range r.Header {
		if isForwardingHeader(name) {
			return "the header " + name
		}
	}
	return ""
}

// isForwardingHeader reports whether a header with this canonical name is sent only by
// proxies.
func isForwardingHeader(name string) bool {
	switch name {
	case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Host", "X-Original-Url",
		"True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip", "X-Proxyuser-Ip", "X-Envoy-External-Address":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "X-Original-Forwarded-")
}

// HasDevHeaders reports whether a request, or a connection_init, has development
// headers.
func HasDevHeaders(header http.Header) bool {
	return header.Get(userHeader) != "" || header.Get(tenantHeader) != ""
}

// fromDevHeaders returns the user named by the development headers.
func fromDevHeaders(header http.Header) (storage.User, error) {
	user := storage.User{Tenant: storage.DefaultTenant}
	for name, field := range map[string]*string{userHeader: &user.UserID, tenantHeader: &user.Tenant} {
		switch values := header.Values(name); {
		case len(values) > 1:
			return storage.User{}, refuse("there is more than one %s header", name)
		case len(values) == 1 && values[0] != "":
			*field = values[0]
		}
	}
	if err := user.Validate(); err != nil {
		return storage.User{}, refuse("the X-Ovation headers do not name a valid user: %s", reasonOf(err))
	}
	return user, nil
}

// isLocalHost reports whether a Host header is localhost or a loopback address. No name
// server is needed to resolve these.
func isLocalHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
