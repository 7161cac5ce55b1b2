package storage_test

import (
	"strings"
	"testing"

	"ovation/storage"
)

func TestTextsThatShowNothingAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             "",
		"space":               " \n\u3000\u00a0",
		"joiners":             "\u200c\u200d",
		"format characters":   "\ufeff\u202e",
		"blank braille":       "\u2800\u2800",
		"Hangul fillers":      "\u3164\u115f\u1160\uffa0",
		"a grapheme joiner":   "\u034f",
		"variation selectors": "\ufe0f\ufe0e\U000e0100",
		"all of these":        "\u2800 \u3164\u034f\ufe0f\u200d\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := storage.CleanText("text", text, storage.MaxCommentRunes)
			wantField(t, err, "text")
		})
	}
	for _, text := range []string{
		".", "\u2801", "\u2764\ufe0f", "\u3164a", "\u0301", "\u0e33", "\u1100\u1160", strings.Repeat("\u0301", storage.MaxCommentRunes),
		"\U0001f469\u200d\U0001f469", "0\ufe0f\u20e3", "\u0645",
	} {
		if got, err := storage.CleanText("text", text, storage.MaxCommentRunes); err != nil || got != text {
			t.Errorf("CleanText(%q) = %q, %v, want it unchanged", text, got, err)
		}
	}
}

func TestCommentsAreNoSubjectsOfComments(t *testing.T) {
	comment := storage.NewComment{
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: storage.BizComment, BizID: "1"},
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, Text: "text",
	}
	_, err := comment.Check()
	wantField(t, err, "biz")
	comment.Subject.Biz = "video"
	_, err = comment.Check()
	wantField(t, err, "")
}
