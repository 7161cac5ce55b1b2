package media

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ovation/api/quota"
	"ovation/api/rate"
	"ovation/storage"
)

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
