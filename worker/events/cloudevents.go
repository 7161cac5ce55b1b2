package events

import (
	"encoding/json"
	"strings"
	"time"

	"ovation/storage"
)

// ContentType is the media type of an encoded event.
const ContentType = "application/cloudevents+json; charset=UTF-8"

// TypePrefix begins the type of every encoded event, such as ovation.liked.
const TypePrefix = "ovation."

// cloudEvent is an event in the structured mode of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject"`
	Time            string `json:"time"`
	DataContentType string `json:"datacontenttype"`
	Data            data   `json:"data"`
}

// data is the payload. Members that do not belong to the type are absent.
type data struct {
	Tenant    string  `json:"tenant"`
	Biz       string  `json:"biz"`
	BizID     string  `json:"bizId"`
	User      *string `json:"user"`   // null for anonymous users, and if there is no user
	Before    any     `json:"before"` // a string, a number of reads, or null
	After     any     `json:"after"`
	Times     int64   `json:"times,omitempty"`
	CommentID string  `json:"commentId,omitempty"`
	FolderID  string  `json:"folderId,omitempty"`
}

// Encode returns an event of the log with the given id as a CloudEvent: one JSON object
// without a line break. The id of the CloudEvent is the Cursor of the event: no two events
// have the same, and an event has the same whenever it is read.
func Encode(stream string, e *storage.Event) ([]byte, error) {
	out := cloudEvent{
		SpecVersion:     "1.0",
		ID:              Cursor{stream, e.Position}.String(),
		Source:          "urn:ovation:" + stream,
		Type:            TypePrefix + string(e.Type),
		Subject:         e.Subject.Biz + "/" + e.Subject.BizID,
		Time:            storage.Time(e.At).Format(time.RFC3339Nano),
		DataContentType: "application/json",
		Data: data{
			Tenant: e.Subject.Tenant, Biz: e.Subject.Biz, BizID: e.Subject.BizID,
			Before: nullIfEmpty(e.Before), After: nullIfEmpty(e.After), Times: e.Times,
		},
	}
	if !e.User.Anonymous() {
		out.Data.User = &e.User.UserID
	}
	switch e.Type {
	case storage.EventRead, storage.EventReadCleared:
		out.Data.Before, out.Data.After = json.Number(e.Before), json.Number(e.After)
	case storage.EventCommented, storage.EventCommentEdited, storage.EventCommentDeleted:
		out.Data.CommentID = e.Object
	case storage.EventFolderCreated, storage.EventFolderUpdated, storage.EventFolderDeleted:
		out.Data.FolderID = e.Object
	default:
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

func nullIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}
