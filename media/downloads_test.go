package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ovation/api/quota"
	"ovation/api/rate"
	"ovation/internal/testing/must"
	"ovation/storage"
)

// ranges returns a Range header with n ranges of one byte.
func ranges(n int) string { return "bytes=-1" + strings.Repeat(",-1", n-1) }

// TestARequestOpensAFileOnce checks that a request makes at most two calls to the blob
// store, however many ranges it asks for, and is then answered with the whole file.
func TestARequestOpensAFileOnce(t *testing.T) {
	var calls atomic.Int64
	s, _ := newS3Site(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/films/videos/") && r.Method != http.MethodPut {
				calls.Add(1)
			}
			h.ServeHTTP(w, r)
		})
	})
	file := mp4(20_000)
	v := s.publish(t, "film", file)
	h := Files(s.blobs, quietly)
	for _, c := range []struct {
		method, wanted string
		status         int
		body           []byte
		calls          int64
	}{
		{"GET", "", http.StatusOK, file, 2},
		{"GET", "bytes=10-19", http.StatusPartialContent, file[10:20], 2},
		{"GET", "bytes=19990-", http.StatusPartialContent, file[19_990:], 2},
		{"GET", "bytes=-1", http.StatusPartialContent, file[19_999:], 2},
		{"GET", "bytes=0-1,5-6", http.StatusOK, file, 2},
		{"GET", ranges(12_000), http.StatusOK, file, 2},
		{"HEAD", ranges(12_000), http.StatusOK, nil, 1},
		{"GET", "bytes=20000-", http.StatusRequestedRangeNotSatisfiable, []byte("invalid range: failed to overlap\n"), 1},
		{"GET", "bytes=9-1", http.StatusRequestedRangeNotSatisfiable, []byte("invalid range\n"), 1},
	} {
		calls.Store(0)
		got := get(t, h, c.method, v.PlayURL(), "Range", c.wanted)
		name := c.method + " " + c.wanted[:min(len(c.wanted), 20)]
		if text := body(t, got); got.StatusCode != c.status || !bytes.Equal(text, c.body) {
			t.Errorf("%s: got status %d, %d bytes, want %d, %d bytes", name, got.StatusCode, len(text), c.status, len(c.body))
		}
		if n := calls.Load(); n != c.calls {
			t.Errorf("%s: got %d calls to the blob store, want %d", name, n, c.calls)
		}
	}
}

// TestAFileIsReadInOnePiece checks that an object returns errors, instead of opening the
// blob again, after it was read and after it was closed.
func TestAFileIsReadInOnePiece(t *testing.T) {
	s := newSite(t, nil)
	v := s.publish(t, "film", mp4(100))
	o, err := s.blobs.open(t.Context(), v.FileKey())
	must.Succeed(t, err)
	for _, at := range []int64{90, 10} {
		if _, err := o.Seek(at, io.SeekStart); err != nil {
			t.Errorf("Seek(%d) before the first read = %v, want no error", at, err)
		}
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(o, got); err != nil || !bytes.Equal(got, mp4(100)[10:15]) {
		t.Errorf("reading after a seek = %q, %v, want %q", got, err, mp4(100)[10:15])
	}
	if _, err := o.Seek(50, io.SeekStart); !errors.Is(err, errReadTwice) {
		t.Errorf("Seek after a read = %v, want %v", err, errReadTwice)
	}
	o.close()
	o.close()
	if _, err := o.Read(got); err == nil {
		t.Error("reading a closed object returned no error")
	}
	if _, err := s.blobs.open(t.Context(), "videos/missing"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("open of a missing blob = %v, want %v", err, storage.ErrNotFound)
	}
}

// TestClientsThatDisconnectDoNotDisturb disconnects clients while a file is being sent.
// With several ranges, http.ServeContent would read the file in a goroutine that outlives
// the request, and the race detector would report that the request closes the file.
func TestClientsThatDisconnectDoNotDisturb(t *testing.T) {
	s := newSite(t, nil)
	s.service.MaxBytes = 64 << 20
	v := s.publish(t, "film", mp4(32<<20)) // more than the system takes into its buffers
	f, ended := newFiles(s.blobs, quietly), make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		f.ServeHTTP(w, r)
	}))
	defer server.Close()
	for range 10 {
		for _, wanted := range []string{"bytes=0-", "bytes=0-14999999,15000000-29999999"} {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			must.Succeed(t, err)
			_, err = io.WriteString(conn, "GET "+v.PlayURL()+" HTTP/1.1\r\nHost: x\r\nRange: "+wanted+"\r\n\r\n")
			must.Succeed(t, err)
			_, err = io.ReadFull(conn, make([]byte, 64<<10))
			must.Succeed(t, err)
			must.Succeed(t, conn.Close())
			<-ended
		}
	}
	if f.places.Used() != 0 {
		t.Errorf("after all of them %d places are taken, want none", f.places.Used())
	}
}

// TestSlowStoreIsCutOff checks that no transfer waits forever for a blob store that
// hangs: neither a download, nor the copy for a cover, nor an upload.
func TestSlowStoreIsCutOff(t *testing.T) {
	var hangs atomic.Bool
	released := make(chan struct{})
	s, _ := newS3Site(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if hangs.Load() && r.Method != http.MethodHead {
				if r.Method == http.MethodGet {
					w.Header().Set("Content-Length", strconv.Itoa(1<<20))
					w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
					_, _ = w.Write(make([]byte, 1000))
					_ = http.NewResponseController(w).Flush()
				}
				<-released
			}
			h.ServeHTTP(w, r)
		})
	})
	v := s.publish(t, "film", mp4(1<<20))
	hangs.Store(true)
	t.Cleanup(func() { close(released) }) // before the server is closed
	s.blobs.reading, s.blobs.writing = speed{time.Second, storeMinimum}, speed{time.Second, storeMinimum}

	got := get(t, Files(s.blobs, quietly), "GET", v.PlayURL())
	defer got.Body.Close()
	text := body(t, got)
	if len(text) != 1000 {
		t.Errorf("a download got %d bytes, want the 1000 that were read before the store hung", len(text))
	}
	if path, _, err := s.blobs.local(t.Context(), v.FileKey()); !errors.Is(err, storage.ErrUnavailable) || !errors.Is(err, errSlowStore) {
		t.Errorf("the copy for a cover = %q, %v, want %v", path, err, errSlowStore)
	}
	if _, err := s.service.StoreFile(t.Context(), bytes.NewReader(mp4(100))); !errors.Is(err, errSlowStore) {
		t.Errorf("StoreFile = %v, want %v", err, errSlowStore)
	}
}

// TestSlowDownloadIsCutOff checks that a client that stops receiving is disconnected, so
// that its place becomes free, and that a steady client may exceed the server's timeouts.
func TestSlowDownloadIsCutOff(t *testing.T) {
	s := newSite(t, nil)
	s.service.MaxBytes = 64 << 20
	file := mp4(32 << 20) // more than the system takes into its buffers
	v := s.publish(t, "film", file)
	f, ended := newFiles(s.blobs, quietly), make(chan struct{}, 2)
	h := withMinRate(f, speed{sendGrace, minimum}, speed{2 * time.Second, minimum})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		ended <- struct{}{}
	}))
	server.Config.WriteTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	must.Succeed(t, err)
	_, err = io.WriteString(conn, "GET "+v.PlayURL()+" HTTP/1.1\r\nHost: x\r\n\r\n")
	must.Succeed(t, err)
	<-ended // the client reads nothing
	if f.places.Used() != 0 {
		t.Errorf("after a client that reads nothing %d places are taken, want none", f.places.Used())
	}
	if n, _ := io.Copy(io.Discard, conn); n >= int64(len(file)) {
		t.Errorf("a client that was too slow got %d bytes, want less than the file", n)
	}
	must.Succeed(t, conn.Close())

	response, err := server.Client().Get(server.URL + v.PlayURL())
	must.Succeed(t, err)
	read, pauses := 0, 0
	for part := make([]byte, 4<<20); ; pauses++ {
		n, err := io.ReadFull(response.Body, part)
		read += n
		if err != nil {
			break
		}
		pause(t.Context(), 50*time.Millisecond) // longer in total than the server's timeout
	}
	must.Succeed(t, response.Body.Close())
	if read != len(file) {
		t.Errorf("a steady client got %d bytes in %d parts, want %d", read, pauses, len(file))
	}
}

// payerOf returns a middleware that charges requests to the bucket of an address.
func payerOf(l *rate.Limiter, address string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := l.Payer(storage.User{}, rate.Client{Address: netip.MustParseAddr(address)}, rate.Bucket{})
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), rate.Key{}, &p)))
	})
}

// TestDownloadsCostUnits checks the prices of a request and of the bytes of a file, and
// the response to a client that cannot pay them.
func TestDownloadsCostUnits(t *testing.T) {
	s := newSite(t, nil)
	v := s.publish(t, "film", mp4(512<<10)) // costs 256 units
	h := Files(s.blobs, quietly)
	synctest.Test(t, func(t *testing.T) {
		l := rate.New(rate.Config{PerAddress: 80}) // 800 at once
		send := func(method, path, from string, want int, retryAfter string) {
			t.Helper()
			got := get(t, payerOf(l, from, h), method, path)
			body(t, got)
			if after := got.Header.Get("Retry-After"); got.StatusCode != want || after != retryAfter {
				t.Errorf("%s %s from %s: got status %d, Retry-After %q, want %d, %q", method, path, from, got.StatusCode, after, want, retryAfter)
			}
		}
		for range 8 {
			send("HEAD", v.PlayURL(), "192.0.2.1", http.StatusOK, "")
		}
		send("HEAD", v.PlayURL(), "192.0.2.1", http.StatusTooManyRequests, "2")
		send("GET", v.PlayURL(), "192.0.2.2", http.StatusOK, "")
		send("GET", v.PlayURL(), "192.0.2.2", http.StatusOK, "")
		send("GET", v.PlayURL(), "192.0.2.2", http.StatusTooManyRequests, "1")
		send("GET", "/media/placeholders/1.png", "192.0.2.2", http.StatusOK, "")
		time.Sleep(time.Second)
		send("GET", v.PlayURL(), "192.0.2.2", http.StatusOK, "")
		send("GET", v.PlayURL(), "192.0.2.2", http.StatusTooManyRequests, "3") // a debt of one second
	})
}

// TestViewersAtOneAddressDownload checks that the bound of an address applies only once
// more than half of the places are taken, and that a /48 then has four times as many.
func TestViewersAtOneAddressDownload(t *testing.T) {
	f := newFiles(nil, quietly)
	take := func(address string) bool {
		_, ok := f.places.take(quota.Owner{Address: netip.MustParseAddr(address)})
		return ok
	}
	for i := range freeDownloads {
		if !take("192.0.2.1") {
			t.Fatalf("download %d of an address, with most places free: refused, want accepted", i)
		}
	}
	if take("192.0.2.1") {
		t.Error("an address with more than its share, once places are scarce: accepted, want refused")
	}
	n := 0
	for i := range 10 * maxDownloadsOfAddress {
		if take(fmt.Sprintf("2001:db8:1:%x::", i%10)) {
			n++
		}
	}
	if n != maxDownloadsOfSite {
		t.Errorf("a /48: got %d downloads, want %d", n, maxDownloadsOfSite)
	}
	for n = 0; take("192.0.2.2"); n++ {
	}
	if n != maxDownloadsOfAddress {
		t.Errorf("another address: got %d downloads, want %d", n, maxDownloadsOfAddress)
	}
}

// TestDownloadsAreBounded checks the number of concurrent downloads of an address and in
// total. The downloads wait for the blob store.
func TestDownloadsAreBounded(t *testing.T) {
	began, goOn := make(chan struct{}, 10), make(chan struct{})
	s, _ := newS3Site(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead && strings.HasPrefix(r.URL.Path, "/films/videos/") {
				began <- struct{}{}
				<-goOn
			}
			h.ServeHTTP(w, r)
		})
	})
	v := s.publish(t, "film", mp4(100))
	f := newFiles(s.blobs, quietly)
	f.places = newPlaces(quota.Shares{Total: 3, Visitors: 2, Address: 2, Anonymous: 3})
	l := rate.New(rate.Config{})
	var running sync.WaitGroup
	for _, from := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2"} {
		running.Go(func() {
			got := get(t, payerOf(l, from, f), "GET", v.PlayURL())
			if body(t, got); got.StatusCode != http.StatusOK {
				t.Errorf("a download from %s: got status %d, want 200", from, got.StatusCode)
			}
		})
		<-began
		if from == "192.0.2.1" && f.places.Used() == 1 {
			continue
		}
		for _, from := range []string{"192.0.2.1", "192.0.2.3"}[:f.places.Used()-1] {
			got := get(t, payerOf(l, from, f), "GET", v.PlayURL())
			if body(t, got); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
				t.Errorf("a download from %s beyond the bound: got status %d, %v, want 429 with Retry-After", from, got.StatusCode, got.Header)
			}
		}
	}
	close(goOn)
	running.Wait()
	if f.places.Used() != 0 {
		t.Errorf("after all of them %d places are taken, want none", f.places.Used())
	}
}
