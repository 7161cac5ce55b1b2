package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ovation/importer/archive"
	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/storage/storagetest"
)

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: t.TempDir() + "/ovation.db"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func nameKey(name string) (string, error) { return strings.ToLower(name), nil }

var testAccounts = archive.Accounts{
	NameKey: nameKey, Unmatched: "none",
	CheckHash: func(text string) error {
		if strings.HasPrefix(text, "bad") {
			return errors.New("bad")
		}
		return nil
	},
}

// export returns a file without its header's time.
func export(t *testing.T, s storage.Store, o archive.ExportOptions) string {
	t.Helper()
	o.NameKey = nameKey
	if o.Query.Tenant == "" {
		o.Query.Tenant = "default"
	}
	var b bytes.Buffer
	if _, err := archive.Export(t.Context(), s, &b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// lines returns the lines of a file without the header and the trailer, whose checksum
// includes the header's time.
func lines(file string) []string {
	all := strings.Split(strings.TrimSpace(file), "\n")
	return all[1 : len(all)-1]
}

func importFile(t *testing.T, s storage.Archives, file string) (archive.Result, error) {
	t.Helper()
	return archive.Import(t.Context(), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(file)), nil }, s,
		archive.ImportOptions{Tenant: "default", Accounts: testAccounts})
}

func TestFilesRestoreWhatWasExported(t *testing.T) {
	t.Parallel()
	from, to := open(t), open(t)
	storagetest.Populate(t, from)
	file := export(t, from, archive.ExportOptions{Passwords: true})
	for _, what := range []string{"an import", "a second import"} {
		result, err := importFile(t, to, file)
		if err != nil || len(result.Refused) > 0 || result.Total != int64(len(lines(file))) {
			t.Fatalf("%s: got %+v, %v, want %d lines", what, result, err, len(lines(file)))
		}
		if got := export(t, to, archive.ExportOptions{Passwords: true}); !slices.Equal(lines(got), lines(file)) {
			t.Errorf("the export after %s differs:\n%s", what, difference(lines(got), lines(file)))
		}
		storagetest.CheckCounts(t, to)
	}
}

func difference(got, want []string) string {
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Sprintf("line %d: want %s", i, want[i])
		}
	}
	return fmt.Sprintf("%d lines too many", len(got)-len(want))
}

func TestPasswordsAreLeftOut(t *testing.T) {
	t.Parallel()
	from, to := open(t), open(t)
	account, err := from.CreateAccount(t.Context(), storage.NewAccount{Tenant: "default", Name: "Alice", NameKey: "alice", Password: "hash-of-alice"})
	if err != nil {
		t.Fatal(err)
	}
	file := export(t, from, archive.ExportOptions{})
	if strings.Contains(file, "hash-of-alice") || !strings.Contains(file, `"name":"Alice"`) {
		t.Errorf("the export without passwords is %s, want the account without its hash", file)
	}
	if _, err := importFile(t, to, file); err != nil {
		t.Fatal(err)
	}
	got, err := to.AccountOf(t.Context(), account.User)
	if err != nil || got == nil || got.Password != "none" || got.NameKey != "alice" {
		t.Errorf("the account is %+v, %v, want one that no password matches", got, err)
	}
}

// sealed returns a file of the given lines with a correct trailer.
func sealed(counts string, all ...string) string {
	text := strings.Join(all, "\n") + "\n"
	sum := sha256.Sum256([]byte(text))
	return text + `{"type":"end","lines":{` + counts + `},"sha256":"` + hex.EncodeToString(sum[:]) + `"}` + "\n"
}

const goodHeader = `{"format":"ovation-export","version":1,"tenant":"default","time":"2026-01-02T03:04:05Z"}`

func TestBadFilesImportNothing(t *testing.T) {
	t.Parallel()
	const like = `{"type":"like","user":"alice","biz":"video","bizId":"1","time":"2026-01-02T03:04:05Z"}`
	good := sealed(`"like":1`, goodHeader, like)
	s := open(t)
	for name, c := range map[string]struct{ file, want string }{
		"empty":             {"", "line 0 is the last one, and the line that ends an export is missing"},
		"only a header":     {goodHeader + "\n", "line 1 is the last one"},
		"no trailer":        {goodHeader + "\n" + like + "\n", "line 2 is the last one"},
		"half a line":       {good[:len(good)-30], "line 3 is the last one"},
		"a changed line":    {strings.Replace(good, "alice", "bobby", 1), "line 3 has another checksum"},
		"a missing line":    {sealed(`"like":2`, goodHeader, like), "other numbers of lines"},
		"more lines after":  {good + like + "\n", "line 4 follows the end"},
		"two files":         {good + good, "line 4 follows the end"},
		"a newer version":   {sealed(``, strings.Replace(goodHeader, `"version":1`, `"version":2,"more":true`, 1)), "line 1 names version 2 of the format, and this release reads up to version 1"},
		"no version":        {sealed(``, strings.Replace(goodHeader, `"version":1,`, ``, 1)), "line 1 is not the header"},
		"another tenant":    {sealed(``, strings.Replace(goodHeader, "default", "acme", 1)), "choose --tenant acme"},
		"no tenant":         {sealed(``, strings.Replace(goodHeader, "default", "", 1)), "line 1 is invalid: tenant"},
		"a long line":       {sealed(`"like":1`, goodHeader, like, `{"type":"like","user":"`+strings.Repeat("a", 70_000)+`"}`), "line 3 is longer than 65536 bytes"},
		"an unknown type":   {sealed(`"like":1,"poke":1`, goodHeader, like, `{"type":"poke"}`), `line 3 has the type "poke", which this release does not know`},
		"an unknown member": {sealed(`"like":1`, goodHeader, like, `{"type":"like","poke":1}`), `line 3 is not a line of an export: json: unknown field "poke"`},
		"no object":         {sealed(`"like":1`, goodHeader, like, `7`), "line 3 is not a line of an export"},
		"no JSON":           {sealed(`"like":1`, goodHeader, like, "\x00\xff"), "line 3 is not a line of an export"},
		"two objects":       {sealed(`"like":2`, goodHeader, like+like), "line 2 is not a line of an export"},
		"an invalid like":   {sealed(`"like":2`, goodHeader, like, strings.Replace(like, "video", "No!", 1)), "line 3 is invalid: biz must be"},
		"no time":           {sealed(`"like":2`, goodHeader, like, `{"type":"like","user":"alice","biz":"video","bizId":"1"}`), "line 3 is invalid: version must be above 0"},
		"a time in words":   {sealed(`"like":2`, goodHeader, like, strings.Replace(like, "2026-01-02T03:04:05Z", "noon", 1)), `line 3 is not a line of an export: "noon" is not a time`},
		"a folder nowhere":  {sealed(`"like":2`, goodHeader, like, `{"type":"collect","user":"alice","biz":"video","bizId":"1","time":"2026-01-02T03:04:05Z"}`), "line 3 has no folder"},
		"an id in words":    {sealed(`"message":1`, goodHeader, like, `{"type":"message","id":"x","from":"a","to":"b","text":"t","time":"2026-01-02T03:04:05Z"}`), `line 3 has "x" for id`},
		"a bad hash":        {sealed(`"account":1`, goodHeader, like, `{"type":"account","id":"5","name":"A","password":"bad-secret","generation":1,"time":"2026-01-02T03:04:05Z"}`), "line 3 has a password that is no hash"},
	} {
		_, err := importFile(t, s, c.file)
		if _, ok := errors.AsType[*archive.FileError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a FileError that says %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "bad-secret") {
			t.Errorf("%s: the error shows the hash", name)
		}
	}
	if got := lines(export(t, s, archive.ExportOptions{})); len(got) != 0 {
		t.Errorf("after bad files, the store holds %q", got)
	}
	if _, err := importFile(t, s, good); err != nil {
		t.Errorf("the good file: %v", err)
	}
}

func TestFilesThatChangeAreNoticed(t *testing.T) {
	t.Parallel()
	s, n := open(t), 0
	_, err := archive.Import(t.Context(), func() (io.ReadCloser, error) {
		n++
		header := strings.Replace(goodHeader, "03:04:05", fmt.Sprintf("03:04:%02d", n), 1)
		return io.NopCloser(strings.NewReader(sealed(``, header))), nil
	}, s, archive.ImportOptions{Tenant: "default", Accounts: testAccounts})
	if err == nil || !strings.Contains(err.Error(), "the file changed while it was imported") {
		t.Errorf("got %v, want the change of the file", err)
	}
}

// full is a disk that is full after n bytes.
type full struct{ n int }

func (f *full) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestFullDisksEndExports(t *testing.T) {
	t.Parallel()
	s := open(t)
	storagetest.Populate(t, s)
	for _, n := range []int{0, 100_000} {
		_, err := archive.Export(t.Context(), s, &full{n}, archive.ExportOptions{Query: storage.ArchiveQuery{Tenant: "default"}, NameKey: nameKey})
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("an export with room for %d bytes: got %v, want the error of the disk", n, err)
		}
	}
}

func TestImportsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	from, to := open(t), open(t)
	storagetest.Populate(t, from)
	file := export(t, from, archive.ExportOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := archive.Import(ctx, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(file)), nil }, to,
		archive.ImportOptions{Tenant: "default", Accounts: testAccounts, Progress: func(int64, int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if _, err := importFile(t, to, file); err != nil {
		t.Fatal(err)
	}
	if got := export(t, to, archive.ExportOptions{}); !slices.Equal(lines(got), lines(file)) {
		t.Errorf("an import that resumes differs: %s", difference(lines(got), lines(file)))
	}
}

// TestFormat holds a line of each type as files have it. A change of these lines needs a new
// version of the format.
func TestFormat(t *testing.T) {
	t.Parallel()
	s := open(t)
	const at = `2026-01-02T03:04:05.000006Z`
	want := strings.Split(strings.ReplaceAll(strings.TrimSpace(`
{"type":"account","id":"5","name":"Alice","signature":"hi","generation":1,"time":"AT"}
{"type":"folder","id":"default","user":"alice","name":"Default","updated":"AT","time":"AT"}
{"type":"folder","id":"f1","user":"alice","name":"Films","description":"all","public":true,"updated":"AT","time":"AT"}
{"type":"comment","id":"7","user":"alice","biz":"article","bizId":"1","text":"text","edited":"AT","editor":"bob","time":"AT"}
{"type":"comment","id":"8","user":"bob","biz":"article","bizId":"1","replyTo":"7","text":"reply","time":"AT"}
{"type":"video","id":"9","user":"alice","title":"T","file":"0123456789abcdef","format":"webm","bytes":5,"covered":true,"time":"AT"}
{"type":"author","biz":"article","bizId":"1","author":"alice","time":"AT"}
{"type":"like","user":"alice","biz":"article","bizId":"1","time":"AT"}
{"type":"undislike","user":"alice","biz":"article","bizId":"1","time":"2026-01-02T03:04:06Z"}
{"type":"dislike","user":"alice","biz":"article","bizId":"2","time":"AT"}
{"type":"clear","user":"alice","biz":"article","bizId":"3","time":"AT"}
{"type":"unlike","user":"alice","biz":"article","bizId":"4","time":"AT"}
{"type":"collect","user":"alice","biz":"article","bizId":"1","folder":"f1","time":"AT"}
{"type":"uncollect","user":"alice","biz":"article","bizId":"2","time":"AT"}
{"type":"follow","user":"alice","biz":"user","bizId":"bob","time":"AT"}
{"type":"unfollow","user":"alice","biz":"user","bizId":"carol","time":"AT"}
{"type":"read","biz":"article","bizId":"1","times":7,"last":"AT","time":"AT"}
{"type":"read","user":"alice","biz":"article","bizId":"1","times":3,"last":"AT","time":"AT"}
{"type":"message","id":"10","from":"alice","to":"bob","text":"hi","time":"AT"}
{"type":"readMark","user":"bob","with":"alice","upTo":"10"}
{"type":"import","id":"import-1"}`), "AT", at), "\n")
	numbers := map[string]int{}
	for _, l := range want {
		numbers[regexp.MustCompile(`"type":"(\w+)"`).FindStringSubmatch(l)[1]]++
	}
	var counts []string
	for name, n := range numbers {
		counts = append(counts, fmt.Sprintf("%q:%d", name, n))
	}
	result, err := importFile(t, s, sealed(strings.Join(counts, ","), append([]string{goodHeader}, want...)...))
	if err != nil || len(result.Refused) > 0 {
		t.Fatalf("got %+v, %v", result, err)
	}
	if got := lines(export(t, s, archive.ExportOptions{})); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
