package events_test

import (
	"errors"
	"strings"
	"testing"

	"ovation/storage"
	"ovation/worker/events"
)

const stream = "00112233445566778899aabbccddeeff"

func TestEventsAreEncodedAsCloudEvents(t *testing.T) {
	alice, video := storage.User{Tenant: "default", UserID: "alice"}, storage.Subject{Tenant: "default", Biz: "video", BizID: `4"2`}
	envelope := func(position, is, subject, at string) string {
		return `{"specversion":"1.0","id":"` + stream + `-` + position + `","source":"urn:ovation:` + stream + `","type":"ovation.` + is +
			`","subject":"` + subject + `","time":"` + at + `","datacontenttype":"application/json","data":`
	}
	for _, c := range []struct {
		event storage.Event
		want  string
	}{
		{
			storage.Event{Position: 1, Type: storage.EventLiked, Subject: video, User: alice, Before: "DISLIKE", After: "LIKE", At: 1_700_000_000_123_456},
			envelope("1", "liked", `video/4\"2`, "2023-11-14T22:13:20.123456Z") +
				`{"tenant":"default","biz":"video","bizId":"4\"2","user":"alice","before":"DISLIKE","after":"LIKE"}}`,
		},
		{
			storage.Event{Position: 2, Type: storage.EventRead, Subject: video, User: storage.User{Tenant: "default"}, Before: "0", After: "3", Times: 3, At: 1},
			envelope("2", "read", `video/4\"2`, "1970-01-01T00:00:00.000001Z") +
				`{"tenant":"default","biz":"video","bizId":"4\"2","user":null,"before":0,"after":3,"times":3}}`,
		},
		{
			storage.Event{Position: 3, Type: storage.EventCommented, Subject: video, User: alice, Object: "77", At: 1},
			envelope("3", "commented", `video/4\"2`, "1970-01-01T00:00:00.000001Z") +
				`{"tenant":"default","biz":"video","bizId":"4\"2","user":"alice","before":null,"after":null,"commentId":"77"}}`,
		},
		{
			storage.Event{Position: 4, Type: storage.EventFolderDeleted, Subject: alice.Subject(), User: alice, Object: "f", At: 1},
			envelope("4", "folder_deleted", `user/alice`, "1970-01-01T00:00:00.000001Z") +
				`{"tenant":"default","biz":"user","bizId":"alice","user":"alice","before":null,"after":null,"folderId":"f"}}`,
		},
	} {
		got, err := events.Encode(stream, &c.event)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v\nwant %s", got, err, c.want)
		}
	}
}

func TestCursors(t *testing.T) {
	at := events.Cursor{Stream: stream, Position: 12}
	for text, want := range map[string]error{
		at.String():                     nil,
		stream + "-0":                   nil,
		stream + "-9223372036854775807": nil,
		"":                              events.ErrMalformedCursor,
		"12":                            events.ErrMalformedCursor,
		stream:                          events.ErrMalformedCursor,
		stream + "-":                    events.ErrMalformedCursor,
		stream + "--1":                  events.ErrMalformedCursor,
		stream + "-+1":                  events.ErrMalformedCursor,
		stream + "-01":                  events.ErrMalformedCursor,
		stream + "-9223372036854775808": events.ErrMalformedCursor,
		stream[2:] + "-12":              events.ErrMalformedCursor,
		strings.ToUpper(stream) + "-12": events.ErrMalformedCursor,
		"\n" + at.String():              events.ErrMalformedCursor,
		stream + "-" + strings.Repeat("1", 1_000_000): events.ErrMalformedCursor,
	} {
		got, err := events.ParseCursor(text)
		if !errors.Is(err, want) || err == nil && got.String() != text {
			t.Errorf("ParseCursor(%.70q) = %v, %v, want error %v", text, got, err, want)
		}
	}
	for _, c := range []struct {
		in   storage.EventStream
		want error
	}{
		{storage.EventStream{ID: stream, First: 13, Last: 12}, nil},
		{storage.EventStream{ID: stream, First: 1, Last: 20}, nil},
		{storage.EventStream{ID: stream, First: 14, Last: 20}, storage.ErrEventsPruned},
		{storage.EventStream{ID: stream, First: 1, Last: 11}, storage.ErrEventsAhead},
		{storage.EventStream{ID: "ff112233445566778899aabbccddeeff", First: 1, Last: 20}, events.ErrOtherLog},
	} {
		if got, err := at.In(c.in); !errors.Is(err, c.want) || got != 12 && err == nil {
			t.Errorf("In(%+v) = %d, %v, want 12, %v", c.in, got, err, c.want)
		}
	}
}
