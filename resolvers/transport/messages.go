package transport

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
)

// subprotocol is the supported WebSocket subprotocol.
const subprotocol = "graphql-transport-ws"

const (
	// maxMessageRead is the maximum length of a client's message, in bytes.
	maxMessageRead = 64 << 10
	// maxIDBytes is the maximum length of an operation's id.
	maxIDBytes = 128
	// maxReasonBytes is the maximum length of the reason in a close frame.
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

// Close reasons whose wording clients may rely on.
var (
	initTimeout    = closeReason{closeInitTimeout, "Connection initialisation timeout"}
	unauthorized   = closeReason{closeUnauthorized, "Unauthorized"}
	tooManyInits   = closeReason{closeTooManyInits, "Too many initialisation requests"}
	badSubprotocol = closeReason{closeSubprotocol, "Subprotocol not acceptable: speak " + subprotocol}
	expired        = closeReason{closeForbidden, "Forbidden: the token has expired"}
	revoked        = closeReason{closeForbidden, "Forbidden: the token, or the key that signed it, has been revoked"}
	goingAway      = closeReason{websocket.StatusGoingAway, "the server is stopping; connect again"}
)

// Close reasons that are logged but never sent to a client.
var (
	closedByClient = closeReason{code: 0, reason: "the client closed it"}
	connectionLost = closeReason{code: 0, reason: "the connection to the client broke or its time ran out"}
)

// closeReason is the reason why a stream ends: the code and the text of the close frame.
type closeReason struct {
	code   websocket.StatusCode
	reason string
}

// protocolError returns the close reason for an invalid message.
func protocolError(reason string) *closeReason { return &closeReason{closeBadMessage, reason} }

// truncated returns the reason, cut to the length that a close frame allows.
func (e closeReason) truncated() string {
	if len(e.reason) <= maxReasonBytes {
		return e.reason
	}
	cut := maxReasonBytes - len("…")
	for cut > 0 && !utf8.RuneStart(e.reason[cut]) {
		cut--
	}
	return e.reason[:cut] + "…"
}

// message is a message from a client.
type message struct {
	kind    string
	id      string // "" if absent
	payload json.RawMessage
}

// readMessage parses a message. It returns a close reason if the message is invalid.
func readMessage(text []byte) (message, *closeReason) {
	var m message
	if text = bytes.TrimLeft(text, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		return m, protocolError("the message must be a JSON object")
	}
	typed := false
	s := newScanner("the message", text)
	s.members(func(name string) bool {
		switch name {
		case "type":
			typed = s.peek() == '"'
			m.kind = s.stringOrNull(name)
		case "id":
			m.id = s.stringOrNull(name)
		case "payload":
			s.space()
			from := s.at
			if s.value(); !s.failed {
				m.payload = bytes.Clone(text[from:s.at]) // the buffer is reused
			}
		default:
			return false
		}
		return true
	})
	refused := s.done()
	switch {
	case refused != nil:
		return m, protocolError(refused.message)
	case !typed:
		return m, protocolError(`"type" is missing`)
	case len(m.id) > maxIDBytes:
		return m, protocolError(`"id" is too long`)
	}
	if bytes.Equal(m.payload, []byte("null")) {
		m.payload = nil
	}
	switch m.kind {
	case typeInit, typePing, typePong:
		if m.payload != nil && m.payload[0] != '{' {
			return m, protocolError(`"payload" must be an object`)
		}
	case typeSubscribe, typeComplete:
		if m.id == "" {
			return m, protocolError(`"id" is missing`)
		}
	default:
		return m, protocolError("clients do not send messages of this type, or there is no such type")
	}
	return m, nil
}

// params returns the operation in the payload of a subscribe message.
func (m message) params() (*graphql.RawParams, *closeReason) {
	if len(m.payload) == 0 || m.payload[0] != '{' {
		return nil, protocolError(`"payload" must be an object with the member "query"`)
	}
	params, refused := members("the payload", m.payload)
	if refused != nil {
		return nil, protocolError(refused.message)
	}
	return params, nil
}

// credentials returns the payload of connection_init as the headers of a request.
func (m message) credentials() (http.Header, *closeReason) {
	header := http.Header{}
	if m.payload == nil {
		return header, nil
	}
	payload, refused := readObject("the payload", "payload", m.payload)
	if refused != nil {
		return nil, protocolError(refused.message)
	}
	for name, value := range payload {
		switch name := http.CanonicalHeaderKey(name); name {
		case "Authorization", "X-Ovation-User", "X-Ovation-Tenant":
			text, isText := value.(string)
			if !isText {
				return nil, protocolError(name + " must be a string")
			}
			header.Add(name, text)
		}
	}
	return header, nil
}

// writeMessage appends a message for the client to the buffer out. An empty id and a nil
// payload are left out.
func writeMessage(out *bytes.Buffer, kind, id string, payload any) {
	out.WriteString(`{"type":"` + kind + `"`)
	if id != "" {
		writeMember(out, "id", id)
	}
	switch payload := payload.(type) {
	case nil:
	case *graphql.Response:
		out.WriteString(`,"payload":`)
		encode(out, payload)
	default:
		writeMember(out, "payload", payload)
	}
	out.WriteByte('}')
}
