package transport

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// subprotocol is the one WebSocket protocol spoken here.
const subprotocol = "graphql-transport-ws"

const (
	// maxMessageRead is the longest message of a client, in bytes.
	maxMessageRead = 64 << 10
	// maxIDBytes is the longest id of an operation.
	maxIDBytes = 128
	// maxReasonBytes is what a close frame has room for.
	maxReasonBytes = 123
)

// The types of messages.
const (
	typeInit      = "connection_init"
	typeAck       = "connection_ack"
	typePing      = "ping"
	typePong      = "pong"
	typeSubscribe = "subscribe"
	typeNext      = "next"
	typeError     = "error"
	typeComplete  = "complete"
)

// The close codes of graphql-transport-ws.
const (
	closeBadMessage       websocket.StatusCode = 4400
	closeUnauthorized     websocket.StatusCode = 4401
	closeForbidden        websocket.StatusCode = 4403
	closeSubprotocol      websocket.StatusCode = 4406
	closeInitTimeout      websocket.StatusCode = 4408
	closeSubscriberExists websocket.StatusCode = 4409
	closeTooManyInits     websocket.StatusCode = 4429
	closeInternal         websocket.StatusCode = 4500
)

// The endings whose words clients may know.
var (
	initTimeout  = ending{closeInitTimeout, "Connection initialisation timeout"}
	unauthorized = ending{closeUnauthorized, "Unauthorized"}
	tooManyInits = ending{closeTooManyInits, "Too many initialisation requests"}
	otherTongue  = ending{closeSubprotocol, "Subprotocol not acceptable: speak " + subprotocol}
	expired      = ending{closeForbidden, "Forbidden: the token has expired"}
	revoked      = ending{closeForbidden, "Forbidden: the key that signed the token has been withdrawn"}
	goingAway    = ending{websocket.StatusGoingAway, "the server is stopping; connect again"}
)

// The endings that no client is told.
var (
	left = ending{code: 0, reason: "the client closed it"}
	lost = ending{code: 0, reason: "the client is gone, or does not read, or does not answer"}
)

// ending is why a stream ends, as a WebSocket is told.
type ending struct {
	code   websocket.StatusCode
	reason string
}

// amiss is the ending for a message that is none.
func amiss(reason string) *ending { return &ending{closeBadMessage, reason} }

// fitting is the reason cut to what a close frame has room for.
func (e ending) fitting() string {
	if len(e.reason) <= maxReasonBytes {
		return e.reason
	}
	cut := maxReasonBytes - len("…")
	for cut > 0 && !utf8.RuneStart(e.reason[cut]) {
		cut--
	}
	return e.reason[:cut] + "…"
}

// message is what a client says.
type message struct {
	kind    string
	id      string // "" where there is none
	payload json.RawMessage
}

// readMessage reads a message. What is none has an ending.
func readMessage(text []byte) (message, *ending) {
	var kind, id *string
	var m message
	if refused := bounded("the message", text); refused != nil {
		return m, amiss(refused.message)
	}
	if text = bytes.TrimLeft(text, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		return m, amiss("the message must be a JSON object")
	}
	refused := object("the message", text, map[string]any{"type": &kind, "id": &id, "payload": &m.payload})
	switch {
	case refused != nil:
		return m, amiss(refused.message)
	case kind == nil:
		return m, amiss(`"type" is missing`)
	case id != nil && len(*id) > maxIDBytes:
		return m, amiss(`"id" is too long`)
	}
	if m.kind = *kind; id != nil {
		m.id = *id
	}
	if bytes.Equal(m.payload, []byte("null")) {
		m.payload = nil
	}
	switch m.kind {
	case typeInit, typePing, typePong:
		if m.payload != nil && m.payload[0] != '{' {
			return m, amiss(`"payload" must be an object`)
		}
	case typeSubscribe, typeComplete:
		if m.id == "" {
			return m, amiss(`"id" is missing`)
		}
	default:
		return m, amiss("there is no such type of message for a server")
	}
	return m, nil
}

// params are the operation in the payload of a subscribe message.
func (m message) params() (*graphql.RawParams, *ending) {
	if len(m.payload) == 0 || m.payload[0] != '{' {
		return nil, amiss(`"payload" must be an object with the member "query"`)
	}
	params, refused := members("the payload", m.payload)
	if refused != nil {
		return nil, amiss(refused.message)
	}
	return params, nil
}

// credentials are the headers of a request that say who asks, from the payload
// of connection_init.
func (m message) credentials() (http.Header, *ending) {
	header := http.Header{}
	if m.payload == nil {
		return header, nil
	}
	var payload map[string]any
	if refused := decode("the payload", m.payload, &payload); refused != nil {
		return nil, amiss(refused.message)
	}
	for name, value := range payload {
		switch name := http.CanonicalHeaderKey(name); name {
		case "Authorization", "X-Ovation-User", "X-Ovation-Tenant":
			text, isText := value.(string)
			if !isText {
				return nil, amiss(name + " must be a string")
			}
			header.Add(name, text)
		}
	}
	return header, nil
}

// envelope begins a message to the client. What encodes the payload follows,
// then a brace.
func envelope(out *bytes.Buffer, kind, id string) {
	out.WriteString(`{"type":"`)
	out.WriteString(kind)
	if out.WriteByte('"'); id != "" {
		member(out, "id", id)
	}
}

// emptyMessage writes a message without a payload.
func emptyMessage(out *bytes.Buffer, kind, id string) {
	envelope(out, kind, id)
	out.WriteByte('}')
}

// pongMessage writes the answer to a ping, with its payload if it has one.
func pongMessage(out *bytes.Buffer, payload json.RawMessage) {
	envelope(out, typePong, "")
	if payload != nil {
		member(out, "payload", payload)
	}
	out.WriteByte('}')
}

// errorsMessage writes the message that an operation was refused.
func errorsMessage(out *bytes.Buffer, id string, errs gqlerror.List) {
	envelope(out, typeError, id)
	member(out, "payload", errs)
	out.WriteByte('}')
}

// nextMessage writes the message with a response.
func nextMessage(out *bytes.Buffer, id string, response *graphql.Response) {
	envelope(out, typeNext, id)
	out.WriteString(`,"payload":`)
	encode(out, response)
	out.WriteByte('}')
}
