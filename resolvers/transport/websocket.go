package transport

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"

	"ovation/api/codes"
)

// WebSocket answers any number of operations over one connection, with the protocol
// graphql-transport-ws.
type WebSocket struct {
	// Streams limits the WebSockets and closes them at shutdown.
	Streams *Streams
	// Origins decides which pages may connect, as in Config.
	Origins *Origins
}

var _ graphql.Transport = WebSocket{}

// Supports reports whether a request is an upgrade to a WebSocket.
func (WebSocket) Supports(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Upgrade"), func(value string) bool {
		return strings.Contains(strings.ToLower(value), "websocket")
	})
}

// Do takes over the connection. It returns without waiting for the connection to end, so
// that no part of the request stays in memory. Streams waits for the goroutine that
// serves the connection.
func (t WebSocket) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	rec := recordOf(r.Context())
	rec.kind = kindWebSocket
	s := newSocket(exec, t.Streams, rec, t.Origins.distrust(rec.Auth, r))
	if t.Origins.admit(r) == pageRefused {
		origin := r.Header.Get("Origin")
		t.Origins.warn(origin)
		if t.Origins == nil || !t.Origins.Development {
			WriteError(w, r, http.StatusForbidden, codes.BadUserInput, t.Origins.explain(origin))
			return
		}
		// A browser hides the reason for a failed handshake from the page, but not the
		// reason of a close frame.
		s.stop(closeReason{closeForbidden, t.Origins.explain(origin)})
	}
	entered, refused := t.Streams.begin(kindSocket, rec.User, rec.client.Address, s.stop)
	if refused != nil {
		refused.writeTo(w, r)
		return
	}
	under := &slimConn{writeTimeout: t.Streams.opts.WriteTimeout}
	hijacker := &slimHijacker{ResponseWriter: w, conn: under}
	conn, err := websocket.Accept(hijacker, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // the origin is checked above
		OnPingReceived: func(context.Context, []byte) bool {
			under.onControlFrame()
			return true
		},
		OnPongReceived: func(context.Context, []byte) { under.onControlFrame() },
	})
	if err != nil {
		entered.end()
		if under.Conn == nil {
			WriteError(w, r, max(hijacker.refused, http.StatusBadRequest), codes.BadUserInput, "this is not a valid WebSocket handshake (version 13)")
		}
		return
	}
	conn.SetReadLimit(-1) // the socket limits messages itself
	s.connect(conn, under, entered)
	go s.serve() //nolint:contextcheck // it outlives the request; the streams wait for it
}
