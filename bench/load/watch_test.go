package load_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"ovation/bench/load"
)

// startWebSocketServer starts a server that accepts WebSockets and calls the given
// function for each. It returns the server's address.
func startWebSocketServer(t *testing.T, with func(ctx context.Context, conn *websocket.Conn)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"graphql-transport-ws"}})
		if err != nil {
			t.Error(err)
			return
		}
		with(r.Context(), conn)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func expectMessage(ctx context.Context, t *testing.T, conn *websocket.Conn, want string) {
	t.Helper()
	if _, text, err := conn.Read(ctx); err != nil || string(text) != want {
		t.Errorf("the server received %s, %v; want %s", text, err, want)
	}
}

func sendMessage(ctx context.Context, t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		t.Error(err)
	}
}

func TestSubscriptionReceivesResponses(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	ask := `{"query":"` + strings.Repeat("#", 200) + `"}`
	address := startWebSocketServer(t, func(ctx context.Context, conn *websocket.Conn) {
		expectMessage(ctx, t, conn, `{"type":"connection_init","payload":{"a":1}}`)
		sendMessage(ctx, t, conn, `{"type":"connection_ack"}`)
		expectMessage(ctx, t, conn, `{"type":"subscribe","id":"1","payload":`+ask+`}`)
		for _, text := range []string{"1", long, strings.Repeat("y", 200)} {
			sendMessage(ctx, t, conn, `{"type":"next","id":"1","payload":{"data":"`+text+`"}}`)
			reading := conn.CloseRead(ctx) // reads the pong
			if err := conn.Ping(reading); err != nil {
				t.Errorf("the ping was not answered: %v", err)
			}
		}
		sendMessage(ctx, t, conn, `{"type":"complete","id":"1"}`)
		_ = conn.CloseNow()
	})
	watch, err := load.Subscribe(t.Context(), address, []byte(`{"a":1}`), []byte(ask))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Close() }()
	for _, want := range []string{"1", long, strings.Repeat("y", 200)} {
		if got, err := watch.Next(); err != nil || string(got) != `{"data":"`+want+`"}` {
			t.Fatalf("got %.100s, %v, want the data %.100s", got, err, want)
		}
	}
	if got, err := watch.Next(); err == nil || !strings.Contains(err.Error(), "complete") {
		t.Errorf("Next after the end = %s, %v, want an error that says complete", got, err)
	}
}

func TestRefusedSubscriptionsAreErrors(t *testing.T) {
	address, _, _ := startServer(t, 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	if _, err := load.Subscribe(t.Context(), address, []byte(`{"a":1}`), []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("got %v, want the status 503", err)
	}
	address = startWebSocketServer(t, func(ctx context.Context, conn *websocket.Conn) {
		expectMessage(ctx, t, conn, `{"type":"connection_init","payload":{"a":1}}`)
		_ = conn.Close(1013, "too many")
	})
	if _, err := load.Subscribe(t.Context(), address, []byte(`{"a":1}`), []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("got %v, want the close reason \"too many\"", err)
	}
}
