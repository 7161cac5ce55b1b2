//go:build long

package douyin_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"ovation/internal/testing/must"
)

// An upload of one byte per second is cut off with a reply, and leaves nothing behind.
func TestLongSlowUploadIsCutOff(t *testing.T) {
	s := start(t)
	ann := s.register(t, "Ann")
	whole := s.upload(t, nil, part{name: "token", value: ann.token}, part{name: "title", value: "x"}, part{"data", "x.mp4", mp4(string(make([]byte, 10_000)))})
	body, err := io.ReadAll(whole.Body)
	must.Succeed(t, err)
	slow, in := io.Pipe()
	var writing sync.WaitGroup
	t.Cleanup(func() {
		must.Succeed(t, slow.Close())
		writing.Wait()
	})
	writing.Go(func() {
		_, err := in.Write(body[:1000])
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for at := 1000; err == nil && at < len(body); at++ {
			<-every.C
			_, err = in.Write(body[at : at+1])
		}
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, whole.URL.String(), slow)
	must.Succeed(t, err)
	r.Header.Set("Content-Type", whole.Header.Get("Content-Type"))
	begun := time.Now()
	refused(t, s.do(t, r), "too slow")
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("the slow upload was cut off after %v, want at most a minute", took)
	}
	if files := s.files(t); len(files) > 0 {
		t.Errorf("the slow upload left the files %v, want none", files)
	}
}
