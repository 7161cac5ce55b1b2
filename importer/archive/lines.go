package archive

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"ovation/storage"
)

// The name and the version of the format. A release reads files of its own version and of
// older ones. A new version is needed if a reader of the former one would misunderstand
// what a file holds, even by leaving it out.
const (
	formatName    = "ovation-export"
	formatVersion = 1
)

// header is the first line of a file.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Tenant  string `json:"tenant"`
	User    string `json:"user,omitempty"`
	Time    micros `json:"time"`
}

// trailer is the last line of a file.
type trailer struct {
	Type   string           `json:"type"` // typeEnd
	Lines  map[string]int64 `json:"lines"`
	SHA256 string           `json:"sha256"`
}

const typeEnd = "end"

// micros is a time in microseconds since 1970. In JSON, it is a text of RFC 3339 in UTC, or
// the number if the year has more than four digits.
type micros int64

const lastMicros = 253402300799_999999 // the end of the year 9999

// MarshalJSON implements json.Marshaler.
func (m micros) MarshalJSON() ([]byte, error) {
	if m < 0 || m > lastMicros {
		return strconv.AppendInt(nil, int64(m), 10), nil
	}
	return storage.Time(int64(m)).AppendFormat(nil, `"2006-01-02T15:04:05.999999Z"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *micros) UnmarshalJSON(text []byte) error {
	if number, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*m = micros(number)
		return nil
	}
	at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(text))
	if err != nil {
		return fmt.Errorf("%s is not a time of RFC 3339", clip(string(text)))
	}
	*m = micros(storage.Micros(at))
	return nil
}

// line is any line between the header and the trailer. Each type uses some of the members.
type line struct {
	Type  string `json:"type"`
	ID    string `json:"id,omitempty"`
	User  string `json:"user,omitempty"`
	Biz   string `json:"biz,omitempty"`
	BizID string `json:"bizId,omitempty"`

	Folder string `json:"folder,omitempty"` // of a collect
	Author string `json:"author,omitempty"` // of an author

	Times int64  `json:"times,omitempty"` // of a read, from Time to Last
	Last  micros `json:"last,omitempty"`

	Name        string `json:"name,omitempty"` // of a folder and an account
	Description string `json:"description,omitempty"`
	Public      bool   `json:"public,omitempty"`
	Updated     micros `json:"updated,omitempty"`

	From string `json:"from,omitempty"` // of a message
	To   string `json:"to,omitempty"`

	ReplyTo string `json:"replyTo,omitempty"` // of a comment
	Text    string `json:"text,omitempty"`
	Edited  micros `json:"edited,omitempty"`
	Editor  string `json:"editor,omitempty"`
	Deleted micros `json:"deleted,omitempty"`

	Since micros `json:"since,omitempty"` // of a deleted subject

	Title   string `json:"title,omitempty"` // of a video
	File    string `json:"file,omitempty"`
	Format  string `json:"format,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Covered bool   `json:"covered,omitempty"`

	Key        string `json:"key,omitempty"` // of an account, if it is not that of its name today
	Password   string `json:"password,omitempty"`
	Avatar     string `json:"avatar,omitempty"`
	Background string `json:"background,omitempty"`
	Signature  string `json:"signature,omitempty"`
	Generation int64  `json:"generation,omitempty"`

	With string `json:"with,omitempty"` // of a read mark
	UpTo string `json:"upTo,omitempty"`

	Time micros `json:"time,omitempty"`
}

// The types of lines, in the order of a file. Those of actions have the names that package
// importer uses.
const (
	typeAccount   = "account"
	typeFolder    = "folder"
	typeDeleted   = "deleted"
	typeComment   = "comment"
	typeVideo     = "video"
	typeAuthor    = "author"
	typeLike      = "like"
	typeDislike   = "dislike"
	typeClear     = "clear"
	typeUnlike    = "unlike"
	typeUndislike = "undislike"
	typeCollect   = "collect"
	typeUncollect = "uncollect"
	typeFollow    = "follow"
	typeUnfollow  = "unfollow"
	typeRead      = "read"
	typeMessage   = "message"
	typeReadMark  = "readMark"
	typeImport    = "import"
)

var typeNames = []string{
	typeAccount, typeFolder, typeDeleted, typeComment, typeVideo, typeAuthor, typeLike, typeDislike, typeClear, typeUnlike,
	typeUndislike, typeCollect, typeUncollect, typeFollow, typeUnfollow, typeRead, typeMessage, typeReadMark, typeImport,
}

// Count is the number of lines of one type.
type Count struct {
	Type  string
	Lines int64
}

// countsOf returns the counts in the order of typeNames.
func countsOf(lines map[string]int64) (out []Count) {
	for _, name := range typeNames {
		if n := lines[name]; n > 0 {
			out = append(out, Count{name, n})
		}
	}
	return out
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// marshal encodes a line.
func marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
