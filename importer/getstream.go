package importer

import (
	"encoding/json"
	"errors"
	"fmt"
)

var errNotStream = errors.New(`is neither an item of an export, {"type": …, "data": {…}}, nor a reaction with a kind`)

// flattenStream brings an object of GetStream's exports into the form that the mapping
// getstream reads: kind, user_id, activity_id, created_at, deleted_at, text and folder_id. The object
// is an item of an export, {"type": "reaction", "data": {…}}, or a reaction of the earlier
// API, {"kind": "like", …}. The kind says what the object is about if that is not an
// activity: "like of a comment".
func flattenStream(m object) error {
	text := func(of object, name string) (s string) {
		_ = json.Unmarshal(of[name], &s) // anything but a string counts as absent
		return s
	}
	set := func(name, value string) { m[name] = json.RawMessage(fmt.Sprintf("%q", value)) }
	var data object
	kind := text(m, "type")
	switch {
	case text(m, "kind") != "":
		if text(m, "parent") != "" {
			set("kind", text(m, "kind")+" of a reaction")
		}
		if json.Unmarshal(m["data"], &data) == nil {
			m["text"] = data["text"]
		}
		return nil
	case kind == "" || json.Unmarshal(m["data"], &data) != nil || data == nil:
		return errNotStream
	}
	clear(m)
	for _, name := range []string{"user_id", "activity_id", "created_at", "deleted_at", "text", "folder_id"} {
		m[name] = data[name]
	}
	if data["object_id"] != nil {
		m["activity_id"] = data["object_id"]
	}
	switch {
	case kind == "reaction":
		kind = text(data, "type")
		if text(data, "comment_id") != "" {
			kind += " of a comment"
		}
	case kind == "bookmark" && text(data, "object_type") == "comment":
		kind += " of a comment"
	case kind == "comment" && text(data, "parent_id") != "":
		kind = "reply"
	case kind == "comment" && text(data, "status") != "" && text(data, "status") != "active":
		kind = text(data, "status") + " comment"
	}
	set("kind", kind)
	return nil
}
