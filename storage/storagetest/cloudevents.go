package storagetest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"ovation/storage"
)

// PrintedEvent is an event as consumers outside of Ovation get it.
type PrintedEvent struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Subject string `json:"subject"`
	Data    struct {
		Tenant    string `json:"tenant"`
		Biz       string `json:"biz"`
		BizID     string `json:"bizId"`
		User      any    `json:"user"`
		Before    any    `json:"before"`
		After     any    `json:"after"`
		Times     int64  `json:"times"`
		CommentID string `json:"commentId"`
		FolderID  string `json:"folderId"`
	} `json:"data"`
}

// ParseEvent parses a CloudEvent.
func ParseEvent(text []byte) (e PrintedEvent, err error) {
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("event %q: %w", text, err)
	}
	return e, nil
}

// Event returns what a consumer knows of the event.
func (e *PrintedEvent) Event() (*storage.Event, error) {
	text := func(value any) string {
		if value == nil {
			return ""
		}
		return fmt.Sprint(value)
	}
	_, position, _ := strings.Cut(e.ID, "-")
	at, err := strconv.ParseInt(position, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("event %+v: %w", e, err)
	}
	return &storage.Event{
		Position: at, Type: storage.EventType(strings.TrimPrefix(e.Type, "ovation.")),
		Subject: storage.Subject{Tenant: e.Data.Tenant, Biz: e.Data.Biz, BizID: e.Data.BizID},
		User:    storage.User{Tenant: e.Data.Tenant, UserID: text(e.Data.User)},
		Before:  text(e.Data.Before), After: text(e.Data.After), Times: e.Data.Times, Object: e.Data.CommentID + e.Data.FolderID,
	}, nil
}
