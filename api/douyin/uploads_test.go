package douyin_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// Nothing remains of files that are not videos, of forms that are too large or end early,
// or of uploads without a user.
func TestHostileUploadsAreRefused(t *testing.T) {
	s := start(t)
	ann := s.register(t, "Ann")
	token, title := part{name: "token", value: ann.token}, part{name: "title", value: "x"}
	file := func(bytes []byte) part { return part{"data", "x.mp4", bytes} }
	html := "<!doctype html><script>alert(1)</script>"
	for name, c := range map[string]struct {
		query url.Values
		parts []part
		says  string
	}{
		"nobody's":                       {nil, []part{title, file(mp4("x"))}, "token is missing"},
		"nobody's, token empty":          {nil, []part{{name: "token"}, title, file(mp4("x"))}, "token is missing"},
		"a bad token first":              {nil, []part{{name: "token", value: "x"}, title, file(mp4("x"))}, "token"},
		"a bad token last":               {nil, []part{title, file(mp4("x")), {name: "token", value: "x"}}, "token"},
		"a bad token in the URL":         {values("token", "x"), []part{title, file(mp4("x"))}, "token"},
		"two titles":                     {values("title", "y", "token", ann.token), []part{title, file(mp4("x"))}, "different values"},
		"two files":                      {nil, []part{token, title, file(mp4("x")), file(mp4("y"))}, "one file"},
		"no file":                        {nil, []part{token, title}, "data is missing"},
		"a text for a file":              {nil, []part{token, title, {name: "data", value: "x"}}, "not a video"},
		"an empty file":                  {nil, []part{token, title, file([]byte{})}, "not a video"},
		"no title":                       {nil, []part{token, file(mp4("x"))}, "title"},
		"a long title":                   {nil, []part{token, {name: "title", value: strings.Repeat("x", 151)}, file(mp4("x"))}, "title"},
		"a title with NUL":               {nil, []part{token, {name: "title", value: "a\x00b"}, file(mp4("x"))}, "title"},
		"a huge title":                   {nil, []part{token, {name: "title", value: strings.Repeat("x", 10_000)}, file(mp4("x"))}, "title"},
		"a page":                         {nil, []part{token, title, file([]byte(html))}, "not a video"},
		"a page before a video":          {nil, []part{token, title, file([]byte(html + string(mp4("x"))))}, "not a video"},
		"a playlist":                     {nil, []part{token, title, file([]byte("#EXTM3U\nfile:///etc/passwd\n"))}, "not a video"},
		"too large":                      {nil, []part{token, title, file(mp4(strings.Repeat("x", 1<<20)))}, "too large"},
		"too large, of unknown length":   {nil, []part{token, title, file(mp4(strings.Repeat("x", 3<<20)))}, "too large"},
		"a token after one that is good": {values("token", ann.token), []part{title, file(mp4("x")), {name: "token", value: "x"}}, "different values"},
	} {
		r := s.upload(t, c.query, c.parts...)
		if strings.Contains(name, "unknown length") {
			r.ContentLength = -1
		}
		refused(t, s.do(t, r), c.says)
		if files := s.files(t); len(files) > 0 {
			t.Fatalf("%s left the files %v, want none", name, files)
		}
	}
	whole := s.upload(t, nil, token, title, file(mp4(strings.Repeat("x", 100_000))))
	body, err := io.ReadAll(whole.Body)
	must.Succeed(t, err)
	for _, n := range []int{0, 50, 500, 50_000, len(body) - 5} {
		r := whole.Clone(t.Context())
		setBody(r, string(body[:n]))
		refused(t, s.do(t, r))
	}
	for _, kind := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data", ""} {
		r := whole.Clone(t.Context())
		r.Header.Set("Content-Type", kind)
		setBody(r, "token="+ann.token)
		refused(t, s.do(t, r), "multipart/form-data")
	}

	// An upload that states too large a Content-Length is refused before the whole body
	// is sent.
	claimed := s.upload(t, nil, token)
	claimed.Body, claimed.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(body[:1000]), new(endless))), 10<<30
	claimed.Header.Set("Content-Type", whole.Header.Get("Content-Type"))
	if response, err := http.DefaultClient.Do(claimed); err == nil { // otherwise the connection was closed during the request
		text, _ := io.ReadAll(response.Body)
		must.Succeed(t, response.Body.Close())
		if !bytes.Contains(text, []byte("too large")) {
			t.Errorf("an upload of 10 GiB: got %s, want \"too large\"", text)
		}
	}
	if files, films := s.files(t), entries(t, s.get(t, "feed/"), "video_list"); len(files)+len(films) > 0 {
		t.Errorf("there are the files %v and videos %v, want none", files, films)
	}

	// The file's name is ignored. A file that is valid as a video and as another type is
	// treated as a video.
	for _, name := range []string{`../../../etc/cron.d/x`, `..\..\x`, "a\x00b.mp4", "/etc/passwd", "x.html", `"><script>`} {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		must.Succeed(t, w.WriteField("token", ann.token))
		must.Succeed(t, w.WriteField("title", "A polyglot"))
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", `form-data; name="data"; filename="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)+`"`)
		header.Set("Content-Type", "text/html")
		into, err := w.CreatePart(header)
		must.Succeed(t, err)
		_, err = into.Write(mp4(html))
		must.Succeed(t, err)
		must.Succeed(t, w.Close())
		r := s.upload(t, nil)
		r.Header.Set("Content-Type", w.FormDataContentType())
		setBody(r, form.String())
		if reply := s.do(t, r); reply["status_code"] != 0.0 {
			refused(t, reply)
		}
	}
	films := entries(t, s.get(t, "feed/"), "video_list")
	if len(films) == 0 {
		t.Error("no file was accepted, want some")
	}
	for _, film := range films {
		response, err := http.Get(film["play_url"].(string))
		must.Succeed(t, err)
		must.Succeed(t, response.Body.Close())
		if header := response.Header; header.Get("Content-Type") != "video/mp4" || !strings.Contains(header.Get("Content-Security-Policy"), "sandbox") || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("GET %v: got the headers %v, want video/mp4, sandbox and nosniff", film["play_url"], header)
		}
	}
}

type endless struct{}

func (*endless) Read(p []byte) (int, error) { return len(p), nil }
