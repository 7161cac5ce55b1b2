package transport

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"

	"ovation/resolvers/viewer"
)

// WebSocket answers any number of operations over one connection, by the
// protocol graphql-transport-ws.
type WebSocket struct {
	// Streams bound the WebSockets and close them at the end.
	Streams *Streams
	// AllowedOrigins are the origins of other web sites whose pages may
	// connect, as in Config.
	AllowedOrigins []string
}

var _ graphql.Transport = WebSocket{}

// Supports reports whether a request asks for a WebSocket.
func (WebSocket) Supports(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Upgrade"), func(value string) bool {
		return strings.Contains(strings.ToLower(value), "websocket")
	})
}

// Do takes the connection over. A goroutine of the streams' serves it from now
// on, so that nothing of the request is held.
func (t WebSocket) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	rec := recordOf(r.Context())
	rec.kind = kindWebSocket
	welcome, named := t.welcomes(r)
	if !welcome {
		WriteError(w, r, http.StatusForbidden, codeBadUserInput, "pages of this origin may not connect here; the server names those that may by --allowed-origins")
		return
	}
	s := newSocket(exec, t.Streams, rec, distrust(rec.auth, r, named))
	entered, refused := t.Streams.begin(kindSocket, rec.User, rec.client.Address, s.stop)
	if refused != nil {
		refused.writeTo(w, r)
		return
	}
	under := &lean{patience: t.Streams.opts.WriteTimeout}
	hijacker := &leanHijacker{ResponseWriter: w, conn: under}
	conn, err := websocket.Accept(hijacker, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // welcomes has looked
		OnPingReceived: func(context.Context, []byte) bool {
			under.controlled()
			return true
		},
		OnPongReceived: func(context.Context, []byte) { under.controlled() },
	})
	if err != nil {
		entered.end()
		if under.Conn == nil {
			WriteError(w, r, max(hijacker.refused, http.StatusBadRequest), codeBadUserInput, "this is no handshake of a WebSocket, version 13")
		}
		return
	}
	conn.SetReadLimit(-1) // the socket looks
	s.connect(conn, under, entered)
	go s.serve() //nolint:contextcheck // it outlives the request; the streams wait for it
}

// welcomes reports whether a page of the request's origin may connect, and
// whether that is because it is a page of this host or of an origin allowed by
// name. Clients other than browsers send no origin.
func (t WebSocket) welcomes(r *http.Request) (welcome, named bool) {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(t.AllowedOrigins, origin) {
		return true, true
	}
	u, err := url.Parse(origin)
	named = err == nil && strings.EqualFold(u.Host, r.Host)
	return named || slices.Contains(t.AllowedOrigins, "*"), named
}

// distrust returns why the development headers in connection_init will be
// rejected; nil if they will not.
func distrust(auth *viewer.Authenticator, r *http.Request, named bool) *viewer.Error {
	switch {
	case auth == nil:
		return nil
	case !named:
		return viewer.ErrForeignPage
	}
	return auth.Distrust(r)
}
