package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ovation/resolvers/quota"
	"ovation/resolvers/rate"
	"ovation/storage"
)

func TestUploadIsStoredWholeOrNotAtAll(t *testing.T) {
	s := newSite(t, nil)
	for _, size := range []int{24, 5000, 1 << 20} {
		for _, last := range []bool{false, true} { // true: the title follows the file
			fields := []string{"title", fmt.Sprint("film ", size)}
			file := mp4(size)
			body, contentType := form(t, file, fields...)
			if last {
				var out bytes.Buffer
				w := multipart.NewWriter(&out)
				part, err := w.CreateFormFile("file", "x")
				must(t, err)
				_, err = part.Write(file)
				must(t, err)
				must(t, w.WriteField(fields[0], fields[1]))
				must(t, w.Close())
				body, contentType = out.Bytes(), w.FormDataContentType()
			}
			status, got := s.upload(t, body, contentType)
			if status != http.StatusCreated || got.Video.Title != fields[1] || got.Video.PlayURL == "" || got.Video.CoverURL == "" {
				t.Fatalf("%d bytes: got status %d, %+v, want 201, titled %q", size, status, got, fields[1])
			}
			stored, err := os.ReadFile(filepath.Join(s.folder, strings.TrimPrefix(got.Video.PlayURL, storage.MediaPath)))
			must(t, err)
			if !bytes.Equal(stored, file) {
				t.Errorf("%d bytes: the stored file is not the one uploaded", size)
			}
		}
	}
	if files, videos := len(s.files(t)), len(s.videos(t)); files != 6 || videos != 6 {
		t.Errorf("there are %d files and %d videos, want 6 each", files, videos)
	}
}

// TestUploadThatEndsEarlyLeavesNothing checks that an upload leaves nothing behind if its
// body is truncated or its client disconnects.
func TestUploadThatEndsEarlyLeavesNothing(t *testing.T) {
	s := newSite(t, nil)
	body, contentType := form(t, mp4(100_000), "title", "film")
	for _, n := range []int{0, 10, 150, 300, 5000, 50_000, len(body) - 10, len(body) - 3} {
		if status, _ := s.upload(t, body[:n], contentType); status != http.StatusBadRequest {
			t.Errorf("%d bytes: got status %d, want 400", n, status)
		}
	}
	s.wantNoLeftovers(t, "a body that ends early")

	ctx, hangUp := context.WithCancel(t.Context())
	read := 0
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/media/videos", readerFunc(func(p []byte) (int, error) {
		if read >= 20_000 {
			hangUp()
			return 0, io.ErrUnexpectedEOF
		}
		n := copy(p[:min(len(p), 1000)], body[read:])
		read += n
		return n, nil
	}))
	r.Header.Set("Content-Type", contentType)
	as(alice, s.service.Uploads()).ServeHTTP(httptest.NewRecorder(), r)
	s.wantNoLeftovers(t, "a client that hung up")
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestHostileUploadsAreRefused(t *testing.T) {
	s := newSite(t, nil)
	html := []byte("<!doctype html><script>alert(1)</script>")
	for name, c := range map[string]struct {
		file   []byte
		fields []string
		status int
		code   string
	}{
		"0 bytes":              {[]byte{}, []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"no file":              {nil, []string{"title", "x"}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"no title":             {mp4(100), nil, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a title of spaces":    {mp4(100), []string{"title", " \t\u200b"}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a long title":         {mp4(100), []string{"title", strings.Repeat("x", 151)}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a huge field":         {mp4(100), []string{"title", strings.Repeat("x", 5000)}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a title with NUL":     {mp4(100), []string{"title", "a\x00b"}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a request too long":   {mp4(100), []string{"title", "x", "requestId", strings.Repeat("x", 65)}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a page":               {html, []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"a page before MP4":    {append(slices.Clone(html), mp4(100)...), []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"a playlist":           {[]byte("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"), []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"SVG":                  {[]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"GIF":                  {append([]byte("GIF89a"), mp4(100)...), []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"HEIC":                 {boxed("heic", 100)[:16], []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"half a head":          {mp4(100)[:20], []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"too large by a byte":  {mp4(1<<20 + 1), []string{"title", "x"}, http.StatusRequestEntityTooLarge, "LIMIT_EXCEEDED"},
		"too large with parts": {mp4(2 << 20), []string{"title", "x"}, http.StatusRequestEntityTooLarge, "LIMIT_EXCEEDED"},
		"many fields":          {mp4(100), strings.Split(strings.Repeat("title,x,", 12)+"a,b", ","), http.StatusBadRequest, "BAD_USER_INPUT"},
	} {
		body, contentType := form(t, c.file, c.fields...)
		status, got := s.upload(t, body, contentType)
		if status != c.status || len(got.Errors) != 1 || got.Errors[0].Extensions.Code != c.code {
			t.Errorf("%s: got status %d, %+v, want %d, one error %s", name, status, got, c.status, c.code)
		}
		s.wantNoLeftovers(t, name)
	}
	if status, got := s.upload(t, []byte(`{"title":"x"}`), "application/json"); status != http.StatusBadRequest {
		t.Errorf("JSON: got status %d, %+v, want 400", status, got)
	}

	// A body that is too large according to its Content-Length is refused before a byte
	// is read.
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/media/videos", readerFunc(func([]byte) (int, error) {
		t.Error("the body of 10 GiB is read, want it refused by its Content-Length")
		return 0, io.EOF
	}))
	r.ContentLength = 10 << 30
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	w := httptest.NewRecorder()
	as(alice, s.service.Uploads()).ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("10 GiB claimed: got status %d, want 413", w.Code)
	}

	w = httptest.NewRecorder()
	s.service.Uploads().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/media/videos", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("an anonymous upload: got status %d, want 401", w.Code)
	}
	s.wantNoLeftovers(t, "all of these")
}

// TestNamesOfFilesAreNotUsed checks that file names, which clients choose, are never
// used. It also checks that a file that is both a video and a valid file of another type
// is stored as a video.
func TestNamesOfFilesAreNotUsed(t *testing.T) {
	s := newSite(t, nil)
	polyglot := append(mp4(1000), "<script>alert(1)</script>%PDF-1.7 PK\x03\x04"...)
	for _, name := range []string{`../../../etc/cron.d/x`, `..\..\x`, "a\x00b.mp4", "/etc/passwd", strings.Repeat("x", 5000), "x.html", `"><script>`} {
		var out bytes.Buffer
		w := multipart.NewWriter(&out)
		must(t, w.WriteField("title", "film"))
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", `form-data; name="file"; filename="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)+`"`)
		header.Set("Content-Type", "text/html")
		part, err := w.CreatePart(header)
		must(t, err)
		_, err = part.Write(polyglot)
		must(t, err)
		must(t, w.Close())
		status, got := s.upload(t, out.Bytes(), w.FormDataContentType())
		if status == http.StatusCreated {
			if !strings.HasPrefix(got.Video.PlayURL, "/media/videos/") || !strings.HasSuffix(got.Video.PlayURL, ".mp4") {
				t.Errorf("%q is at %s, want /media/videos/*.mp4", name, got.Video.PlayURL)
			}
		} else if status != http.StatusBadRequest {
			t.Errorf("%q: got status %d, want 201 or 400: %+v", name, status, got)
		}
	}
	for _, name := range s.files(t) {
		if stem, is := strings.CutSuffix(strings.TrimPrefix(name, "videos"+string(filepath.Separator)), ".mp4"); !is || storage.ValidateFile(stem) != nil {
			t.Errorf("there is a file %q, want generated names that end in .mp4", name)
		}
	}
}

func TestRepeatedUploadPublishesOnce(t *testing.T) {
	s := newSite(t, nil)
	body, contentType := form(t, mp4(1000), "title", "film", "requestId", "1")
	_, first := s.upload(t, body, contentType)
	status, second := s.upload(t, body, contentType)
	if status != http.StatusCreated || second.Video != first.Video {
		t.Errorf("the same upload again: got status %d, %+v, want 201, %+v", status, second, first)
	}
	if files := s.files(t); len(files) != 1 {
		t.Errorf("there are the files %v, want one", files)
	}
	other, contentType := form(t, mp4(1001), "title", "film", "requestId", "1")
	if status, got := s.upload(t, other, contentType); status != http.StatusBadRequest {
		t.Errorf("another file: got status %d, %+v, want 400", status, got)
	}
	if files := s.files(t); len(files) != 1 {
		t.Errorf("after the refused upload there are the files %v, want one", files)
	}
}

// TestUploadsAreBounded checks the shares of a user and of an address, and the total.
func TestUploadsAreBounded(t *testing.T) {
	s := newSite(t, nil)
	from := func(i int) quota.Owner {
		return quota.Owner{User: storage.User{Tenant: storage.DefaultTenant, UserID: fmt.Sprint(i)}, Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}
	}
	var ends []func()
	reserve := func(by quota.Owner) {
		t.Helper()
		end, err := s.service.Reserve(by)
		must(t, err)
		ends = append(ends, end)
	}
	refused := func(by quota.Owner, beyond string) {
		t.Helper()
		if _, err := s.service.Reserve(by); !errors.Is(err, ErrBusy) {
			t.Errorf("Reserve beyond the limit of %s = %v, want %v", beyond, err, ErrBusy)
		}
	}
	for range maxUploadsOfUser {
		reserve(quota.Owner{User: alice})
	}
	refused(quota.Owner{User: alice, Address: from(1).Address}, "a user")
	body, contentType := form(t, mp4(100), "title", "film")
	if status, _ := s.upload(t, body, contentType); status != http.StatusTooManyRequests {
		t.Errorf("an upload beyond the limit of a user: got status %d, want 429", status)
	}
	for i := range maxUploadsOfAddress {
		reserve(quota.Owner{User: from(i).User, Address: from(200).Address})
	}
	refused(quota.Owner{User: from(99).User, Address: from(200).Address}, "an address")
	for i := len(ends); i < maxUploads; i++ {
		reserve(from(100 + i))
	}
	refused(from(201), "all users")
	for _, end := range ends {
		end()
	}
	if status, _ := s.upload(t, body, contentType); status != http.StatusCreated {
		t.Errorf("after all of them: got status %d, want 201", status)
	}
	s.wantNoPlacesTaken(t)
}

func (s *site) wantNoPlacesTaken(t *testing.T) {
	t.Helper()
	if n := s.service.uploadPlaces.Used(); n != 0 {
		t.Errorf("got %d places taken, want none", n)
	}
}

// TestUploadsOfUnknownUsersAreBounded checks that uploads whose user is not known yet are
// counted by address, and that they leave places for other uploads.
func TestUploadsOfUnknownUsersAreBounded(t *testing.T) {
	s := newSite(t, nil)
	from := func(i int) quota.Owner { return quota.Owner{Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})} }
	var ends []func()
	for i := range maxAnonymousUploads {
		end, err := s.service.Reserve(from(i / maxAnonymousUploadsOfAddress))
		must(t, err)
		ends = append(ends, end)
		if i < maxAnonymousUploadsOfAddress-1 {
			continue
		}
		if _, err := s.service.Reserve(from(0)); !errors.Is(err, ErrBusy) {
			t.Errorf("Reserve beyond the limit of an address = %v, want %v", err, ErrBusy)
		}
	}
	if _, err := s.service.Reserve(from(9)); !errors.Is(err, ErrBusy) {
		t.Errorf("Reserve beyond the limit of all addresses = %v, want %v", err, ErrBusy)
	}
	end, err := s.service.Reserve(quota.Owner{User: alice, Address: from(9).Address})
	must(t, err)
	for _, end := range append(ends, end, end) {
		end()
	}
	s.wantNoPlacesTaken(t)
}

// TestUploadsCostUnits checks the prices of a request and of its bytes, and the response
// to a client that cannot pay for the request: nothing of its body is read.
func TestUploadsCostUnits(t *testing.T) {
	s := newSite(t, nil)
	body, contentType := form(t, mp4(512<<10), "title", "film") // costs 1,024 units and a few more
	body = body[:len(body)-10]                                  // so that nothing is published
	synctest.Test(t, func(t *testing.T) {
		l := rate.New(rate.Config{PerAddress: 180}) // 1,800 at once
		send := func(body []byte, want int, retryAfter string) {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/media/videos", bytes.NewReader(body))
			r.Header.Set("Content-Type", contentType)
			w := httptest.NewRecorder()
			payerOf(l, "192.0.2.1", as(alice, s.service.Uploads())).ServeHTTP(w, r)
			if after := w.Header().Get("Retry-After"); w.Code != want || after != retryAfter {
				t.Errorf("got status %d, Retry-After %q, %s, want %d, %q", w.Code, after, w.Body, want, retryAfter)
			}
			if left, err := r.Body.Read(make([]byte, 1)); want == http.StatusTooManyRequests && (left == 0 || err != nil) {
				t.Errorf("a refused upload: reading the body = %d, %v, want its first byte", left, err)
			}
		}
		send(body, http.StatusBadRequest, "")           // leaves 275
		send(body, http.StatusTooManyRequests, "2")     // needs 500
		time.Sleep(2 * time.Second)                     // 635
		send(body[:100], http.StatusBadRequest, "")     // leaves 135
		time.Sleep(10 * time.Second)                    // all
		send(body[:300<<10], http.StatusBadRequest, "") // leaves 700
		send(body, http.StatusBadRequest, "")           // owes 180
		send(body, http.StatusTooManyRequests, "4")
	})
}

// TestFieldsAreCheckedBeforeTheFile checks that the file is not received if a field before
// it is invalid.
func TestFieldsAreCheckedBeforeTheFile(t *testing.T) {
	s := newSite(t, nil)
	for _, invalid := range [][2]string{{"title", " "}, {"title", strings.Repeat("x", storage.MaxTitleRunes+1)}, {"requestId", strings.Repeat("x", 1000)}} {
		body, contentType := form(t, mp4(1<<20), invalid[0], invalid[1])
		from := bytes.NewReader(body)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/media/videos", from)
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		as(alice, s.service.Uploads()).ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), invalid[0]) {
			t.Errorf("an invalid %s: got status %d, %s, want 400 and its name", invalid[0], w.Code, w.Body)
		}
		if read := len(body) - from.Len(); read > 64<<10 {
			t.Errorf("an invalid %s: %d bytes of the body are read, want at most 64 KiB", invalid[0], read)
		}
	}
}

// TestUploadsOfASiteAreBounded checks that the /64 networks of one IPv6 /48 share the
// places of an address.
func TestUploadsOfASiteAreBounded(t *testing.T) {
	s := newSite(t, nil)
	for _, user := range []string{"", "user "} {
		var ends []func()
		for i := range 100 {
			by := quota.Owner{Address: netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%x::", i))}
			if user != "" {
				by.User = storage.User{Tenant: storage.DefaultTenant, UserID: user + fmt.Sprint(i)}
			}
			if end, err := s.service.Reserve(by); err == nil {
				ends = append(ends, end)
			}
		}
		if len(ends) != maxUploadsOfAddress {
			t.Errorf("%d uploads are accepted from 100 networks of a /48, want %d", len(ends), maxUploadsOfAddress)
		}
		if end, err := s.service.Reserve(quota.Owner{Address: netip.MustParseAddr("2001:db8:2::")}); err != nil {
			t.Errorf("an upload from another /48: got %v, want a place", err)
		} else {
			end()
		}
		for _, end := range ends {
			end()
		}
	}
}

// TestMinimumRateRisesWhenPlacesAreScarce checks the rate at each number of places taken,
// and that an upload that kept the rate before is cut off within the grace once it does
// not, whatever it has sent before.
func TestMinimumRateRisesWhenPlacesAreScarce(t *testing.T) {
	p := newPlaces(quota.Shares{Total: 32, Free: 32})
	var rates []int64
	for i := range 32 {
		rates = append(rates, p.minRate()>>10)
		if _, ok := p.take(quota.Owner{}); !ok {
			t.Fatalf("there is no place after %d, want 32 places", i)
		}
	}
	rates = append(rates, p.minRate()>>10)
	want := slices.Concat(slices.Repeat([]int64{16}, 22), slices.Repeat([]int64{32}, 5), slices.Repeat([]int64{64}, 5), []int64{128})
	if !slices.Equal(rates, want) {
		t.Errorf("the rates in KiB/s are\n%v, want\n%v", rates, want)
	}

	perSecond := int64(16 << 10)
	a := speed{sendGrace, func() int64 { return perSecond }}.begin()
	a.spend(time.Second, 100<<20)
	for range 1000 {
		a.spend(time.Second, 16<<10)
	}
	if a.left != sendGrace {
		t.Errorf("an upload at the minimum rate may wait for %v more, want %v", a.left, sendGrace)
	}
	perSecond *= 8
	seconds := 0
	for ; a.left > 0; seconds++ {
		a.spend(time.Second, 16<<10)
	}
	if want := 18; seconds != want { // an eighth of the time is paid
		t.Errorf("the upload is cut off %d s after the rate has risen, want %d", seconds, want)
	}
}

// TestPublishesOfAUserAreLimited checks that only published videos count, and that the
// file of a video that may not be published is removed.
func TestPublishesOfAUserAreLimited(t *testing.T) {
	s := newSite(t, nil)
	s.service.publishes = rate.NewAttempts(2, time.Hour)
	send := func(want int, file []byte, fields ...string) {
		t.Helper()
		body, contentType := form(t, file, fields...)
		if status, got := s.upload(t, body, contentType); status != want {
			t.Errorf("uploading %q: got status %d, %+v, want %d", fields, status, got, want)
		}
	}
	send(http.StatusCreated, mp4(100), "title", "one", "requestId", "1")
	send(http.StatusCreated, mp4(100), "title", "one", "requestId", "1")
	send(http.StatusBadRequest, mp4(100), "title", "")
	send(http.StatusUnsupportedMediaType, []byte("no video"), "title", "x")
	send(http.StatusCreated, mp4(100), "title", "two")
	send(http.StatusTooManyRequests, mp4(100), "title", "three")
	file, err := s.service.StoreFile(t.Context(), bytes.NewReader(mp4(100)))
	must(t, err)
	_, err = s.service.Publish(t.Context(), alice, "three", "", file)
	if limited, is := errors.AsType[*LimitedError](err); !is || limited.Wait <= 0 || limited.Wait > time.Hour {
		t.Errorf("Publish beyond the limit = %v, want a *LimitedError with a wait of up to an hour", err)
	}
	if files := s.files(t); len(files) != 2 {
		t.Errorf("there are the files %v, want 2", files)
	}
	bob := storage.User{Tenant: storage.DefaultTenant, UserID: "bob"}
	if end, err := s.service.Reserve(quota.Owner{User: bob}); err != nil {
		t.Errorf("Reserve for another user = %v, want no error", err)
	} else {
		end()
	}
}

// TestSlowUploadIsCutOff checks that a slow upload is cut off, and that a steady upload
// may exceed the server's timeouts. The pauses of the steady upload add up to more than
// the server's timeouts and the grace, so it ends in time only if the bytes that arrive
// move its deadline. Its grace also covers the time until the first bytes are read, which
// may be long on a busy machine.
func TestSlowUploadIsCutOff(t *testing.T) {
	s := newSite(t, nil)
	for _, c := range []struct {
		name    string
		pause   time.Duration
		grace   time.Duration
		slowest int64
		status  int
	}{
		{"slow", time.Second, 200 * time.Millisecond, 1 << 20, http.StatusRequestTimeout},
		{"steady", 40 * time.Millisecond, 2 * time.Second, 1, http.StatusCreated},
	} {
		server := httptest.NewUnstartedServer(as(alice, withMinRate(http.HandlerFunc(s.service.upload), speed{c.grace, func() int64 { return c.slowest }}, speed{receiveGrace, minimum})))
		server.Config.ReadHeaderTimeout = time.Minute // the others are for the body and the response
		server.Config.ReadTimeout, server.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
		server.Start()
		body, contentType := form(t, mp4(3000), "title", "film")
		sent := 0
		slow := readerFunc(func(p []byte) (int, error) {
			if sent == len(body) {
				return 0, io.EOF
			}
			if sent > 0 {
				pause(t.Context(), c.pause)
			}
			n := copy(p[:min(len(p), 50)], body[sent:])
			sent += n
			return n, nil
		})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, slow)
		must(t, err)
		r.Header.Set("Content-Type", contentType)
		response, err := server.Client().Do(r)
		switch {
		case err == nil:
			if response.StatusCode != c.status {
				t.Errorf("%s: got status %d, want %d", c.name, response.StatusCode, c.status)
			}
			must(t, response.Body.Close())
		case c.status == http.StatusCreated: // a client that is still sending may miss the response
			t.Errorf("%s: got %v, want status %d", c.name, err, c.status)
		}
		server.Close()
		if c.status != http.StatusCreated {
			s.wantNoLeftovers(t, c.name)
		}
	}
	if n := len(s.videos(t)); n != 1 {
		t.Errorf("there are %d videos, want 1", n)
	}
}
