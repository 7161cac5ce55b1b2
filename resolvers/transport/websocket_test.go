package transport_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ovation/api/viewer"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/resolvers/transport"
)

func TestASocketAnswersOperations(t *testing.T) {
	s := newSite(t, siteOptions{})
	tests := map[string]struct {
		say      string
		receives []string
	}{
		"a query": {subscribe("1", `{interactive(biz:"video",bizId:"7"){bizId}}`), []string{
			`{"type":"next","id":"1","payload":{"data":{"interactive":{"bizId":"7"}}}}`, `{"type":"complete","id":"1"}`,
		}},
		"a mutation": {subscribe("1", `mutation{read(input:{biz:"a",bizId:"1"}){changed}}`), []string{
			`{"type":"next","id":"1","payload":{"data":{"read":{"changed":true}}}}`, `{"type":"complete","id":"1"}`,
		}},
		"a subscription": {subscribe("1", watching("count", "2")), []string{
			`{"type":"next","id":"1","payload":{"data":{"interactiveChanged":{"bizId":"2","version":1}}}}`,
			`{"type":"next","id":"1","payload":{"data":{"interactiveChanged":{"bizId":"2","version":2}}}}`, `{"type":"complete","id":"1"}`,
		}},
		"a subscription without events": {subscribe("1", watching("count", "0")), []string{`{"type":"complete","id":"1"}`}},
		"variables, a name, and an id to be escaped": {
			`{"payload":{"operationName":"Q","extensions":{},"variables":{"id":12345678901234567890},"query":"query P{__typename} query Q($id:ID!){interactive(biz:\"video\",bizId:$id){bizId}}"},` +
				`"id":"a\"\n<é","type":"subscribe","else":[1]}`,
			[]string{`{"type":"next","id":"a\"\n\u003cé","payload":{"data":{"interactive":{"bizId":"12345678901234567890"}}}}`, `{"type":"complete","id":"a\"\n\u003cé"}`},
		},
		"a field error": {subscribe("1", `{interactive(biz:"fail",bizId:"1"){bizId}}`), []string{
			`{"type":"next","id":"1","payload":{"errors":[{"message":"no such thing","path":["interactive"],"locations":[{"line":1,"column":2}],"extensions":{"code":"NOT_FOUND"}}],"data":null}}`,
			`{"type":"complete","id":"1"}`,
		}},
		"an invalid document": {subscribe("1", `{nonsense}`), []string{
			`{"type":"error","id":"1","payload":[{"message":"Cannot query field \"nonsense\" on type \"Query\". Did you mean \"nodes\"?","locations":[{"line":1,"column":2}],"extensions":{"code":"BAD_USER_INPUT"}}]}`,
		}},
		"too costly": {subscribe("1", `{viewer{folders(first:100){edges{node{items(first:100){edges{node{folder{items(first:100){edges{cursor}}}}}}}}}}}`), []string{
			`{"type":"error","id":"1","payload":[{"message":"the operation costs 2050403: its answer can hold that many fields; at most 20000 are allowed. Ask for shorter lists (first) or fewer fields","extensions":{"code":"LIMIT_EXCEEDED"}}]}`,
		}},
		"a subscription to a typename": {subscribe("1", `subscription{__typename}`), []string{
			`{"type":"error","id":"1","payload":[{"message":"Anonymous Subscription must not select an introspection top level field.","locations":[{"line":1,"column":14}],"extensions":{"code":"BAD_USER_INPUT"}}]}`,
		}},
		"a refused subscription": {subscribe("1", watching("fail", "1")), []string{
			`{"type":"error","id":"1","payload":[{"message":"no such thing","path":["interactiveChanged"],"locations":[{"line":1,"column":14}],"extensions":{"code":"NOT_FOUND"}}]}`,
		}},
		"the longest message":        {longestMessage(), []string{`{"type":"next","id":"1","payload":{"data":{"viewer":null}}}`, `{"type":"complete","id":"1"}`}},
		"a ping":                     {`{"type":"ping"}`, []string{`{"type":"pong"}`}},
		"a ping with payload":        {`{"type":"ping","payload":{"at":[1, 2]}}`, []string{`{"type":"pong","payload":{"at":[1,2]}}`}},
		"a pong":                     {`{"type":"pong","payload":null}`, nil},
		"complete for an unknown id": {`{"type":"complete","id":"nothing"}`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := s.ready(t)
			c.say(test.say)
			c.receives(test.receives...)
			c.say(`{"type":"ping"}`) // nothing came after that
			c.receives(`{"type":"pong"}`)
			must.Succeed(t, c.Close(websocket.StatusNormalClosure, ""))
		})
	}
	s.wantMetric(t, "ovation_websocket_closes_total client", float64(len(tests)))
	s.wantMetric(t, "ovation_streams websocket", 0)
}

// longestMessage returns a message of 64 KiB.
func longestMessage() string {
	text := subscribe("1", `{viewer{userId}}#`)
	return strings.Replace(text, "#", "#"+strings.Repeat("x", 64<<10-len(text)), 1)
}

// TestCloseCodes sends invalid messages to the server.
func TestCloseCodes(t *testing.T) {
	s := newSite(t, siteOptions{})
	other := s.bystander(t, "closed")
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	const begun = `{"type":"connection_init"}`
	tests := map[string]struct {
		say    []string
		code   websocket.StatusCode
		reason string
	}{
		"garbage":                   {[]string{"\x00\x01garbage"}, 4400, "must be a JSON object"},
		"cut off":                   {[]string{`{"type":"pi`}, 4400, "ends too early"},
		"two messages in one frame": {[]string{`{"type":"ping"}{"type":"ping"}`}, 4400, "has more after the end"},
		"invalid UTF-8":             {[]string{"{\"type\":\"\xff\"}"}, 4400, "not valid UTF-8"},
		"deep":                      {[]string{`{"type":"ping","payload":{"a":` + deep + `}}`}, 4400, "at most 64 are allowed"},
		"many values":               {[]string{`{"type":"ping","payload":{"a":[` + strings.Repeat("1,", 11_000) + `1]}}`}, 4400, "more than 10000 values"},
		"no type":                   {[]string{`{}`}, 4400, `"type" is missing`},
		"a type that is a number":   {[]string{`{"type":1}`}, 4400, `"type" must be a string`},
		"a repeated type":           {[]string{`{"type":"ping","type":"pong"}`}, 4400, "more than once"},
		"an unknown type":           {[]string{`{"type":"start"}`}, 4400, "no such type"},
		"an init that is text":      {[]string{`{"type":"connection_init","payload":"x"}`}, 4400, `"payload" must be an object`},
		"a token that is a number":  {[]string{`{"type":"connection_init","payload":{"Authorization":1}}`}, 4400, "Authorization must be a string"},
		"no id":                     {[]string{begun, `{"type":"subscribe","payload":{"query":"{__typename}"}}`}, 4400, `"id" is missing`},
		"an id that is a number":    {[]string{begun, `{"type":"subscribe","id":1,"payload":{"query":"{__typename}"}}`}, 4400, `"id" must be a string`},
		"a long id":                 {[]string{begun, subscribe(strings.Repeat("x", 129), "{__typename}")}, 4400, `"id" is too long`},
		"complete without an id":    {[]string{begun, `{"type":"complete"}`}, 4400, `"id" is missing`},
		"no payload":                {[]string{begun, `{"type":"subscribe","id":"1"}`}, 4400, `"payload" must be an object`},
		"a payload that is a list":  {[]string{begun, `{"type":"subscribe","id":"1","payload":["{__typename}"]}`}, 4400, `"payload" must be an object`},
		"no query":                  {[]string{begun, `{"type":"subscribe","id":"1","payload":{}}`}, 4400, `"query" is missing`},
		"a query that is an object": {[]string{begun, `{"type":"subscribe","id":"1","payload":{"query":{}}}`}, 4400, `"query" must be a string`},
		"variables that are text":   {[]string{begun, `{"type":"subscribe","id":"1","payload":{"query":"{__typename}","variables":"x"}}`}, 4400, `"variables" must be an object`},
		"unacknowledged":            {[]string{subscribe("1", "{__typename}")}, 4401, "Unauthorized"},
		"a bad token":               {[]string{`{"type":"connection_init","payload":{"Authorization":"Bearer x"}}`}, 4403, "Forbidden: the token is not a JSON Web Token"},
		"two tokens":                {[]string{`{"type":"connection_init","payload":{"authorization":"Bearer x","Authorization":"Bearer x"}}`}, 4403, "Forbidden: there is more than one"},
		"another scheme":            {[]string{`{"type":"connection_init","payload":{"authorization":"Basic eA=="}}`}, 4403, "Forbidden"},
		"two inits":                 {[]string{begun, begun}, 4429, "Too many initialisation requests"},
		"an id in use":              {[]string{begun, subscribe("one", watching("wait", "1")), subscribe("one", "{__typename}")}, 4409, "Subscriber for one already exists"},
		"a long message":            {[]string{begun, subscribe("1", "#"+strings.Repeat("x", 64<<10))}, 1009, "64 KiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := s.dial(t)
			c.say(test.say[:len(test.say)-1]...)
			// The server may close before it has taken all of a long message.
			_ = c.Write(t.Context(), websocket.MessageText, []byte(test.say[len(test.say)-1]))
			c.isClosed(test.code, test.reason)
			other.receivesEvents(t)
		})
	}
	t.Run("binary", func(t *testing.T) {
		c := s.dial(t)
		must.Succeed(t, c.Write(t.Context(), websocket.MessageBinary, []byte(begun)))
		c.isClosed(4400, "messages must be text")
	})
	for name, offered := range map[string]string{"no subprotocol": "", "an older one": "graphql-ws"} {
		t.Run(name, func(t *testing.T) {
			s.dial(t, "Sec-WebSocket-Protocol", offered).isClosed(4406, "Subprotocol not acceptable")
		})
	}
	other.receivesEvents(t)
	s.wantMetric(t, "ovation_streams websocket", 1)
	s.wantMetric(t, "ovation_subscriptions", 1)
}

// TestHugeMessagesAreNotKept sends several huge messages at the same time, and checks
// that the server keeps none of them in memory.
func TestHugeMessagesAreNotKept(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{KeepAlive: time.Hour}}) // no pings, because the clients would not answer them
	other := s.bystander(t, "huge")
	long := []byte(`{"type":"ping","payload":{"":"` + strings.Repeat("x", 8<<20) + `"}}`)
	before := heap()
	var all sync.WaitGroup
	for range 20 {
		c := s.ready(t)
		all.Go(func() {
			_ = c.Write(t.Context(), websocket.MessageText, long) // the server closes before it has all of it
			c.isClosed(websocket.StatusMessageTooBig, "64 KiB")
		})
	}
	all.Wait()
	other.receivesEvents(t)
	s.wantMetric(t, "ovation_streams websocket", 1)
	if after := heap(); after > before+8<<20 {
		t.Errorf("the heap has grown by %d KB, want at most %d", (after-before)>>10, 8<<10)
	}
}

func TestInvalidFramesAreRejected(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{CloseTimeout: 50 * time.Millisecond}})
	other := s.bystander(t, "frames")
	for name, frames := range map[string]string{
		"an unknown opcode":      "\x83\x80\x00\x00\x00\x00",
		"not masked":             "\x81\x02{}",
		"reserved bits":          "\xf1\x80\x00\x00\x00\x00",
		"a continuation at once": "\x80\x80\x00\x00\x00\x00",
		"a pong not masked":      "\x8a\x00",
		"a long pong":            "\x8a\xfe\x01\x00\x00\x00\x00\x00",
		"a long ping":            "\x89\xfe\x01\x00\x00\x00\x00\x00",
		"no WebSocket frames":    "GET / HTTP/1.1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn := s.raw(t)
			_, err := conn.Write([]byte(frames))
			must.Succeed(t, err)
			if said := everything(t, conn); len(said) < 4 || said[0] != 0x88 || said[2:4] != "\x03\xea" {
				t.Errorf("the reply is %q, want a close with code 1002", said)
			}
			other.receivesEvents(t)
		})
	}
	s.wantMetric(t, "ovation_streams websocket", 1)
}

// TestFramesInPieces sends messages in fragments with control frames between them,
// several frames in one write, and a frame byte by byte.
func TestFramesInPieces(t *testing.T) {
	s := newSite(t, siteOptions{})
	conn := s.raw(t)
	say := func(frames ...string) {
		t.Helper()
		for _, frame := range frames {
			_, err := io.WriteString(conn, frame)
			must.Succeed(t, err)
		}
	}
	hear := func(frames ...string) {
		t.Helper()
		want := strings.Join(frames, "")
		got := make([]byte, len(want))
		if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
			t.Fatalf("got the frames %q, %v, want %q", got[:n], err, want)
		}
	}
	text := func(text string) string { return "\x81" + string(rune(len(text))) + text }
	begins := func(part string) string { return "\x01" + masked(1, part)[1:] }
	goesOn := func(part string) string { return "\x00" + masked(1, part)[1:] }
	ends := func(part string) string { return masked(0, part) }

	say(begins(`{"type":`), masked(9, "one"), goesOn(`"connection_`), goesOn(""), masked(10, "x"), ends(`init"}`))
	hear("\x8a\x03one", text(`{"type":"connection_ack"}`))
	say(masked(9, "two") + masked(10, "") + masked(1, `{"type":"ping"}`) + masked(9, "") + masked(1, `{"type":"ping","payload":{}}`))
	hear("\x8a\x03two", text(`{"type":"pong"}`), "\x8a\x00", text(`{"type":"pong","payload":{}}`))
	for _, frame := range []string{masked(9, "three"), begins(`{"type"`), ends(`:"ping"}`)} {
		say(strings.Split(frame, "")...)
	}
	hear("\x8a\x05three", text(`{"type":"pong"}`))
}

func TestHandshakesThatAreRefused(t *testing.T) {
	const friend = "https://app.example.com"
	s := newSite(t, siteOptions{origins: []string{friend}})
	tests := map[string]struct {
		header []string
		status int
	}{
		"no origin":         {nil, 101},
		"its own page":      {[]string{"Origin", s.url}, 101},
		"its own, by TLS":   {[]string{"Origin", strings.Replace(s.url, "http", "https", 1)}, 101},
		"an allowed origin": {[]string{"Origin", friend}, 101},
		"another origin":    {[]string{"Origin", "https://evil.example.com"}, 403},
		"an origin that begins like an allowed one": {[]string{"Origin", friend + ".evil.example"}, 403},
		"another port":       {[]string{"Origin", "http://127.0.0.1:1"}, 403},
		"a file":             {[]string{"Origin", "null"}, 403},
		"an invalid origin":  {[]string{"Origin", "%%"}, 403},
		"a bad token":        {[]string{"Authorization", "Bearer x"}, 401},
		"an unknown version": {[]string{"Sec-WebSocket-Version", "8"}, 400},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			header := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/graphql", http.NoBody)
			must.Succeed(t, err)
			for _, pairs := range [][]string{header, test.header} {
				for i := 0; i < len(pairs); i += 2 {
					r.Header.Set(pairs[i], pairs[i+1])
				}
			}
			res, err := http.DefaultClient.Do(r)
			must.Succeed(t, err)
			defer func() { _ = res.Body.Close() }()
			if res.StatusCode != test.status {
				t.Errorf("got status %d, want %d", res.StatusCode, test.status)
			}
			if media := res.Header.Get("Content-Type"); test.status >= 400 && !strings.HasPrefix(media, "application/json") {
				t.Errorf("got Content-Type %q, want application/json", media)
			}
		})
	}
	everybody := newSite(t, siteOptions{origins: []string{"*"}})
	everybody.dial(t, "Origin", "https://evil.example.com")
}

func TestConnectionInitDeterminesTheViewer(t *testing.T) {
	const whoAmI = `{viewer{userId}}`
	alice := token(t, time.Hour)
	tests := map[string]struct {
		header  []string
		payload string
		want    string
	}{
		"nobody":                      {nil, `{}`, `null`},
		"no payload":                  {nil, `null`, `null`},
		"a token":                     {nil, `{"Authorization":"Bearer ` + alice + `","else":{"a":[1]}}`, `{"userId":"alice"}`},
		"a header name in lower case": {nil, `{"authorization":"bearer ` + alice + `"}`, `{"userId":"alice"}`},
		"the token of the upgrade":    {[]string{"Authorization", "Bearer " + alice}, `{}`, `{"userId":"alice"}`},
		"a development header":        {nil, `{"X-Ovation-User":"bob"}`, `{"userId":"bob"}`},
		"the token overrides the development header": {nil, `{"x-ovation-user":"bob","Authorization":"Bearer ` + alice + `"}`, `{"userId":"alice"}`},
		"connection_init overrides the upgrade": {
			[]string{"Authorization", "Bearer " + alice}, `{"X-Ovation-User":"bob"}`, `{"userId":"bob"}`,
		},
	}
	s := newSite(t, siteOptions{dev: viewer.LocalDevHeaders})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := s.dial(t, test.header...)
			c.say(fmt.Sprintf(`{"type":"connection_init","payload":%s}`, test.payload))
			c.receives(`{"type":"connection_ack"}`)
			c.say(subscribe("1", whoAmI))
			c.receives(fmt.Sprintf(`{"type":"next","id":"1","payload":{"data":{"viewer":%s}}}`, test.want))
		})
	}
	t.Run("development headers are off", func(t *testing.T) {
		c := newSite(t, siteOptions{dev: viewer.RefuseDevHeaders}).dial(t)
		c.say(`{"type":"connection_init","payload":{"X-Ovation-User":"bob"}}`)
		c.isClosed(4403, "X-Ovation-User is off")
	})
	for name, header := range map[string][]string{
		"through a proxy":                                 {"X-Forwarded-For", "192.0.2.1"},
		"on a page allowed by *":                          {"Origin", "https://evil.example"},
		"on a page of another port":                       {"Origin", "http://127.0.0.1:1"},
		"on a page whose origin is withheld":              {"Origin", "null"},
		"through a proxy, on a page of an allowed origin": {"Origin", "https://app.example", "Via", "1.1 proxy"},
		"through a proxy with an empty X-Real-IP":         {"X-Real-IP", ""},
	} {
		t.Run("a user "+name, func(t *testing.T) {
			s := newSite(t, siteOptions{dev: viewer.LocalDevHeaders, origins: []string{"https://app.example", "*"}})
			c := s.dial(t, header...)
			c.say(`{"type":"connection_init","payload":{"X-Ovation-User":"bob"}}`)
			c.isClosed(4403, "X-Ovation-User is not accepted")
			c = s.dial(t, header...)
			c.say(`{"type":"connection_init","payload":{"Authorization":"Bearer ` + alice + `"}}`)
			c.receives(`{"type":"connection_ack"}`)
		})
	}
	t.Run("a user on a page of an allowed origin", func(t *testing.T) {
		c := newSite(t, siteOptions{dev: viewer.LocalDevHeaders, origins: []string{"https://app.example"}}).dial(t, "Origin", "https://app.example")
		c.say(`{"type":"connection_init","payload":{"X-Ovation-User":"bob"}}`)
		c.receives(`{"type":"connection_ack"}`)
	})
	t.Run("operations are logged and counted", func(t *testing.T) { // the log and the metrics have each operation
		c := s.ready(t, "Authorization", "Bearer "+alice)
		c.say(subscribe("1", "subscription Watch"+strings.TrimPrefix(watching("count", "2"), "subscription")))
		for range 3 {
			_, err := c.next()
			must.Succeed(t, err)
		}
		var line map[string]any
		await.That(t, "the operation is logged", func() bool {
			for text := range strings.Lines(s.log.String()) { // others may follow it
				if strings.Contains(text, `"operation":"Watch"`) {
					must.Succeed(t, json.Unmarshal([]byte(text), &line))
				}
			}
			return line != nil
		})
		for key, want := range map[string]any{"kind": "subscription", "user": "alice", "code": "OK", "responses": 2.0} {
			if line[key] != want {
				t.Errorf("%s: got %v, want %v, in %v", key, line[key], want, line)
			}
		}
	})
}

func TestAnIDIsFreeAgainOnceItsOperationIsOver(t *testing.T) {
	s := newSite(t, siteOptions{})
	c := s.ready(t)
	for range 50 {
		c.say(subscribe("1", watching("wait", "1")), `{"type":"complete","id":"1"}`, subscribe("1", `{viewer{userId}}`))
		c.receives(`{"type":"next","id":"1","payload":{"data":{"viewer":null}}}`, `{"type":"complete","id":"1"}`)
		c.say(subscribe("1", `{viewer{userId}}`))
		c.receives(`{"type":"next","id":"1","payload":{"data":{"viewer":null}}}`, `{"type":"complete","id":"1"}`)
		c.say(subscribe("1", `{nonsense}`))
		if got, err := c.next(); err != nil || !strings.HasPrefix(got, `{"type":"error"`) {
			t.Fatalf("an invalid query: got %s, %v, want an error message", got, err)
		}
	}
	s.wantMetric(t, "ovation_subscriptions", 0)
	s.wantMetric(t, "ovation_graphql_requests_in_flight", 0)
}

func TestAPanicEndsOneOperation(t *testing.T) {
	s := newSite(t, siteOptions{})
	c := s.ready(t)
	c.say(subscribe("other", watching("events", "panic")))
	sendEvent(t, "panic", 6)
	c.receives(`{"type":"next","id":"other","payload":{"data":{"interactiveChanged":{"bizId":"panic","version":6}}}}`)
	for _, kind := range []string{"query", "mutation", "subscription"} {
		payload := map[string]string{"operationName": "Kaboom", "query": `query Kaboom{viewer{userId}}`}
		switch kind {
		case "mutation":
			payload["query"] = `mutation Kaboom{read(input:{biz:"a",bizId:"1"}){changed}}`
		case "subscription":
			payload["query"] = strings.Replace(watching("wait", "1"), "subscription", "subscription Kaboom", 1)
		}
		text, err := json.Marshal(payload)
		must.Succeed(t, err)
		c.say(fmt.Sprintf(`{"type":"subscribe","id":"1","payload":%s}`, text))
		got, err := c.next()
		if err != nil || !strings.HasPrefix(got, `{"type":"error","id":"1","payload":[{"message":"internal error; the server's log has it under `) {
			t.Fatalf("got %s, %v, want an internal error with the id of its log line", got, err)
		}
	}
	if !strings.Contains(s.log.String(), "a secret of the house") {
		t.Error("the log does not contain the text of the panic")
	}
	sendEvent(t, "panic", 7)
	c.receives(`{"type":"next","id":"other","payload":{"data":{"interactiveChanged":{"bizId":"panic","version":7}}}}`)
}
