package storage_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"ovation/storage"
)

func TestKeysOutOfBoundsAreNamed(t *testing.T) {
	subject := func(tenant, biz, id string) error {
		return storage.Subject{Tenant: tenant, Biz: biz, BizID: id}.Validate()
	}
	user := func(tenant, id string) error { return storage.User{Tenant: tenant, UserID: id}.Validate() }
	change := func(name, description string) error {
		return storage.FolderChange{Name: &name, Description: &description}.Validate()
	}
	for name, c := range map[string]struct {
		err   error
		field string // empty: valid
	}{
		"a subject":                              {subject("default", "video", "42"), ""},
		"the shortest names":                     {subject("0", "v", " "), ""},
		"the longest names":                      {subject(strings.Repeat("t", 63), strings.Repeat("b", 32), strings.Repeat("é", 64)), ""},
		"names with punctuation":                 {subject("a-b_c", "short_video-2", "é/👩 x"), ""},
		"no tenant":                              {subject("", "video", "1"), "tenant"},
		"a tenant too long":                      {subject(strings.Repeat("t", 64), "video", "1"), "tenant"},
		"a tenant in capitals":                   {subject("Default", "video", "1"), "tenant"},
		"a tenant that begins with punctuation":  {subject("-a", "video", "1"), "tenant"},
		"no biz":                                 {subject("default", "", "1"), "biz"},
		"a biz too long":                         {subject("default", strings.Repeat("b", 33), "1"), "biz"},
		"a biz that begins with a digit":         {subject("default", "2video", "1"), "biz"},
		"a biz with a colon":                     {subject("default", "video:x", "1"), "biz"},
		"no bizId":                               {subject("default", "video", ""), "bizId"},
		"a bizId of 129 bytes":                   {subject("default", "video", strings.Repeat("x", 129)), "bizId"},
		"a bizId with a control character":       {subject("default", "video", "a\x00b"), "bizId"},
		"a bizId with a line break":              {subject("default", "video", "a\nb"), "bizId"},
		"a bizId that is not UTF-8":              {subject("default", "video", "\xff"), "bizId"},
		"a user":                                 {user("default", "alice@example.org"), ""},
		"an anonymous user":                      {user("default", ""), ""},
		"an anonymous user without a tenant":     {user("", ""), "tenant"},
		"a userId too long":                      {user("default", strings.Repeat("x", 129)), "userId"},
		"a userId with a bidirectional override": {user("default", "a\u202eb"), "userId"},
		"a folder":                               {change("Films", "to\nsee"), ""},
		"a folder named with an emoji":           {change("👩\u200d👩", ""), ""},
		"the longest folder name":                {change(strings.Repeat("é", 100), strings.Repeat("é", 1000)), ""},
		"no folder name":                         {change("", ""), "name"},
		"a folder name too long":                 {change(strings.Repeat("é", 101), ""), "name"},
		"a folder name that begins with a space": {change(" Films", ""), "name"},
		"a folder name of two lines":             {change("a\nb", ""), "name"},
		"a description too long":                 {change("a", strings.Repeat("é", 1001)), "description"},
		"a description that is not UTF-8":        {change("a", "\xff"), "description"},
		"no change":                              {storage.FolderChange{}.Validate(), ""},
	} {
		t.Run(name, func(t *testing.T) { wantField(t, c.err, c.field) })
	}
}

func TestActionsOutOfBoundsAreNamed(t *testing.T) {
	alice := storage.User{Tenant: "default", UserID: "alice"}
	subject := storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}
	good := storage.Action{
		User: alice, Subject: subject, Kind: storage.KindRead, Times: 1, First: 5, Version: 5,
	}
	of := func(kind storage.Kind) storage.Action {
		return storage.Action{User: alice, Subject: subject, Kind: kind, Version: 5}
	}
	for name, c := range map[string]struct {
		change func(*storage.Action)
		field  string
	}{
		"a read with a reaction":  {func(a *storage.Action) { a.Reaction = storage.Like }, "kind"},
		"a read with a folder":    {func(a *storage.Action) { a.FolderID = "default" }, "kind"},
		"a like with a folder":    {func(a *storage.Action) { *a = of(storage.KindReaction); a.FolderID = "default" }, "kind"},
		"a collection with times": {func(a *storage.Action) { *a = of(storage.KindCollection); a.Times = 1 }, "kind"},
		"a valid read":            {func(*storage.Action) {}, ""},
		"an anonymous read":       {func(a *storage.Action) { a.User.UserID = "" }, ""},
		"of two tenants":          {func(a *storage.Action) { a.User.Tenant = "other" }, "tenant"},
		"without a tenant":        {func(a *storage.Action) { a.User.Tenant = "" }, "tenant"},
		"without a subject":       {func(a *storage.Action) { a.Subject = storage.Subject{} }, "tenant"},
		"without a version":       {func(a *storage.Action) { a.Version = 0 }, "version"},
		"read no times":           {func(a *storage.Action) { a.Times = 0 }, "times"},
		"read never":              {func(a *storage.Action) { a.First = 0 }, "times"},
		"read last before first":  {func(a *storage.Action) { a.First = 6 }, "times"},
		"of no kind":              {func(a *storage.Action) { *a = of(0) }, "kind"},
		"of an unknown kind":      {func(a *storage.Action) { *a = of(99) }, "kind"},
		"a follow":                {func(a *storage.Action) { *a = of(storage.KindFollow); a.Following = true }, ""},
		"an unfollow":             {func(a *storage.Action) { *a = of(storage.KindFollow) }, ""},
		"a follow of a user":      {func(a *storage.Action) { *a = of(storage.KindFollow); a.Following, a.Subject.Biz = true, "user" }, ""},
		"a follow of oneself":     {func(a *storage.Action) { *a = of(storage.KindFollow); a.Following, a.Subject = true, a.User.Subject() }, "bizId"},
		"an unfollow of oneself":  {func(a *storage.Action) { *a = of(storage.KindFollow); a.Subject = a.User.Subject() }, ""},
		"a follow with a folder":  {func(a *storage.Action) { *a = of(storage.KindFollow); a.FolderID = "default" }, "kind"},
		"a read that follows":     {func(a *storage.Action) { a.Following = true }, "kind"},
		"an anonymous follow":     {func(a *storage.Action) { a.User.UserID, a.Kind = "", storage.KindFollow }, "userId"},
		"a dislike":               {func(a *storage.Action) { *a = of(storage.KindReaction); a.Reaction = storage.Dislike }, ""},
		"an unknown reaction":     {func(a *storage.Action) { *a = of(storage.KindReaction); a.Reaction = 3 }, "reaction"},
		"a conditional clear":     {func(a *storage.Action) { *a = of(storage.KindReaction); a.If = storage.Dislike }, ""},
		"a conditional like": {func(a *storage.Action) {
			*a = of(storage.KindReaction)
			a.Reaction, a.If = storage.Like, storage.Dislike
		}, "if"},
		"an unknown condition":    {func(a *storage.Action) { *a = of(storage.KindReaction); a.If = 3 }, "if"},
		"a conditional read":      {func(a *storage.Action) { a.If = storage.Like }, "kind"},
		"a conditional uncollect": {func(a *storage.Action) { *a = of(storage.KindCollection); a.If = storage.Like }, "kind"},
		"an anonymous like":       {func(a *storage.Action) { a.User.UserID, a.Kind = "", storage.KindReaction }, "userId"},
		"an uncollect":            {func(a *storage.Action) { *a = of(storage.KindCollection) }, ""},
		"into a folder of any id": {func(a *storage.Action) { *a = of(storage.KindCollection); a.FolderID = "gone" }, ""},
		"into a folder too long":  {func(a *storage.Action) { *a = of(storage.KindCollection); a.FolderID = strings.Repeat("x", 37) }, "folderId"},
		"an anonymous collect":    {func(a *storage.Action) { a.User.UserID, a.Kind = "", storage.KindCollection }, "userId"},
	} {
		t.Run(name, func(t *testing.T) {
			a := good
			c.change(&a)
			wantField(t, a.Validate(), c.field)
			wantField(t, storage.Message{ID: "1", Actions: []storage.Action{good, a}}.Validate(), c.field)
		})
	}
	for _, id := range []string{"", "a b", "é", "a\n", strings.Repeat("x", 65)} {
		wantField(t, storage.Message{ID: id, Actions: []storage.Action{good}}.Validate(), "message id")
	}
}

func TestMessagesOfTwoPurposesAreNamed(t *testing.T) {
	subject := storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}
	alice := storage.User{Tenant: "default", UserID: "alice"}
	barrier := storage.Message{ID: "1", Barrier: storage.Barrier{Number: 1, Partitions: 1}}
	cover := storage.Message{ID: "1", Cover: storage.VideoKey{Tenant: "default", Number: 1}}
	for field, m := range map[string]storage.Message{"barrier": barrier, "cover": cover} {
		wantField(t, m.Validate(), "")
		like := m
		like.Actions = []storage.Action{{User: alice, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: 5}}
		wantField(t, like.Validate(), field)
		comment := m
		comment.Comments = []storage.PastComment{{User: alice, Subject: subject, Text: "x", At: 5}}
		wantField(t, comment.Validate(), field)
	}
	cover.Barrier = barrier.Barrier
	wantField(t, cover.Validate(), "cover")
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	if err == nil {
		if field != "" {
			t.Errorf("got no error, want an InvalidError of %q", field)
		}
		return
	}
	invalid, ok := errors.AsType[*storage.InvalidError](err)
	if !ok || !errors.Is(err, storage.ErrInvalid) || invalid.Field != field || invalid.Reason == "" {
		t.Errorf("got %#v, want an InvalidError of %q, or none if that is empty", err, field)
	}
}

func TestFolderNamesThatDifferInCaseAreTheSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Films", "fILMS", true},
		{"Ö", "ö", true},
		{"Straße", "STRASSE", true},
		{"STRAẞE", "strasse", true},
		{"Σίσυφος", "ΣΊΣΥΦΟΣ", true},
		{"K", "\u212a", true}, // the sign of the kelvin
		{"ſ", "S", true},
		{"ǅ", "ǆ", true},
		{"Ångström", "A\u030aNGSTRO\u0308M", true},
		{"\u212b", "å", true}, // the sign of the ångström
		{"İ", "i\u0307", true},
		{"ﬁ", "FI", true},
		{"ᾳ", "ΑΙ", true},
		{"ı", "I", false}, // the dotless i is a letter of its own
		{"İ", "i", false},
		{"a", "а", false}, // Latin and Cyrillic
		{"１", "1", false}, // compatible, not equivalent
	} {
		if got := storage.FolderNameKey(c.a) == storage.FolderNameKey(c.b); got != c.same {
			t.Errorf("FolderNameKey: %q and %q have the same key: %t, want %t", c.a, c.b, got, c.same)
		}
	}
}

// FuzzValidTextsCanBeStored checks that the text of a comment keeps all but white space,
// and that every valid name or id can be stored: it is not empty,
// is bounded, is valid UTF-8, and has no control characters or line breaks.
func FuzzValidTextsCanBeStored(f *testing.F) {
	for _, text := range []string{"", "a", "video", " ", "\x00", "\xff", "é", "👩\u200d👩", "\u202e", "\u00a0", strings.Repeat("é", 101)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fits := func(most int) bool {
			return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= most && !strings.ContainsAny(text, "\x00\n\r\t\x7f\u2028")
		}
		if clean, err := storage.CleanText("text", text, storage.MaxCommentRunes); err == nil {
			if kept, given := strings.Join(strings.Fields(clean), " "), strings.Join(strings.Fields(text), " "); kept != given {
				t.Errorf("%+q is cleaned to %+q, want no change except to white space", text, clean)
			}
			if again, err := storage.CleanText("text", clean, storage.MaxCommentRunes); err != nil || again != clean {
				t.Errorf("the clean text %+q is cleaned to %+q, %v, want it unchanged", clean, again, err)
			}
		}
		for name, c := range map[string]struct {
			err  error
			most int // characters
		}{
			"tenant": {storage.ValidateTenant(text), storage.MaxTenantBytes},
			"biz":    {storage.ValidateBiz(text), storage.MaxBizBytes},
			"user":   {storage.ValidateUserID(text), storage.MaxIDBytes},
			"folder": {storage.ValidateFolderName(text), storage.MaxFolderNameRunes},
		} {
			if c.err == nil && !fits(c.most) {
				t.Errorf("%q is valid as %s, want an error: it cannot be stored", text, name)
			}
		}
		if key := storage.FolderNameKey(text); storage.ValidateFolderName(text) == nil && storage.FolderNameKey(key) != key {
			t.Errorf("FolderNameKey(%q) = %q, want it unchanged", key, storage.FolderNameKey(key))
		}
	})
}
