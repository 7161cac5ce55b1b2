package transport

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// FuzzMessages checks that every text from a client is either accepted as a message or
// rejected with a reason that fits into a close frame, and that responses are JSON on one
// line.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"type":"connection_init","payload":{"Authorization":"Bearer x"}}`,
		`{"type":"subscribe","id":"1","payload":{"query":"{a}","variables":{"a":[1,{}]},"operationName":null}}`,
		`{"type":"complete","id":"\u0000\n"}`, `{"type":"ping","payload":{}}`, `{"type":`, `[]`, "{\"type\":\"\xff\"}", `{"type":"next"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, why := readMessage(text)
		if why == nil && m.kind == typeSubscribe {
			_, why = m.params()
		}
		if why == nil && m.kind == typeInit {
			_, why = m.credentials()
		}
		if why != nil {
			if reason := why.truncated(); why.code != closeBadMessage || reason == "" || len(reason) > maxReasonBytes || !utf8.ValidString(reason) {
				t.Errorf("got close code %d, reason %q, want %d and 1 to %d bytes of UTF-8", why.code, reason, closeBadMessage, maxReasonBytes)
			}
			return
		}
		for _, write := range []func(*bytes.Buffer){
			func(out *bytes.Buffer) { writeMessage(out, typePong, "", m.payload) },
			func(out *bytes.Buffer) { writeMessage(out, typeComplete, m.id, nil) },
			func(out *bytes.Buffer) { writeMessage(out, typeError, m.id, gqlerror.List{{Message: m.id}}) },
			func(out *bytes.Buffer) { writeMessage(out, typeNext, m.id, &graphql.Response{Data: []byte(`{}`)}) },
		} {
			var out bytes.Buffer
			if write(&out); !json.Valid(out.Bytes()) || bytes.ContainsAny(out.Bytes(), "\n\r") {
				t.Errorf("got the message %q, want JSON in one line", &out)
			}
		}
	})
}

func TestReasonsFitIntoCloseFrames(t *testing.T) {
	for _, reason := range []string{"", "short", strings.Repeat("x", 123), strings.Repeat("x", 124), strings.Repeat("é", 100), strings.Repeat("😀", 100)} {
		got := closeReason{reason: reason}.truncated()
		if len(got) > maxReasonBytes || !utf8.ValidString(got) || len(reason) <= maxReasonBytes && got != reason || len(reason) > maxReasonBytes && len(got) < maxReasonBytes-4 {
			t.Errorf("%q: got %q (%d bytes), want it cut to at most %d bytes of UTF-8, not more than necessary", reason, got, len(got), maxReasonBytes)
		}
	}
}
