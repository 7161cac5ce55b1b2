package media

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// minBytesPerSecond is the minimum average rate at which a client must send after
	// rateGrace, in bytes a second.
	minBytesPerSecond = 16 << 10
	rateGrace         = 15 * time.Second
	// answerTime bounds the time to write a part of a response.
	answerTime = 30 * time.Second
)

// WithMinRate lets a request exceed the server's timeouts as long as its body keeps the
// minimum rate and each part of the response is written within answerTime.
func WithMinRate(next http.Handler) http.Handler {
	return withMinRate(next, rateGrace, minBytesPerSecond)
}

func withMinRate(next http.Handler, grace time.Duration, bytesPerSecond int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.ContentLength != 0 {
			r.Body = &minRateBody{ReadCloser: r.Body, control: control, begin: time.Now(), grace: grace, bytesPerSecond: bytesPerSecond}
		}
		next.ServeHTTP(&minRateWriter{ResponseWriter: w, control: control}, r)
	})
}

// ErrSlow is returned by a read of a request body that falls below the minimum rate.
var ErrSlow = errors.New("the upload is too slow")

// minRateBody is a request body whose deadline moves with the bytes read. On connections
// without deadlines, it does not enforce the rate.
type minRateBody struct {
	io.ReadCloser

	control        *http.ResponseController
	begin          time.Time
	grace          time.Duration
	bytesPerSecond int64
	bytesRead      int64
}

func (b *minRateBody) Read(p []byte) (int, error) {
	enough := time.Duration(b.bytesRead) * time.Second / time.Duration(b.bytesPerSecond)
	_ = b.control.SetReadDeadline(b.begin.Add(b.grace + enough)) // fails on connections without deadlines
	n, err := b.ReadCloser.Read(p)
	b.bytesRead += int64(n)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrSlow
	}
	return n, err
}

// minRateWriter is a response whose deadline moves with each part written.
type minRateWriter struct {
	http.ResponseWriter

	control *http.ResponseController
	next    time.Time // when to extend the deadline next
}

// Unwrap lets http.ResponseController reach the connection.
func (w *minRateWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *minRateWriter) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

func (w *minRateWriter) Write(p []byte) (int, error) {
	w.extend()
	return w.ResponseWriter.Write(p)
}

func (w *minRateWriter) extend() {
	if now := time.Now(); now.After(w.next) {
		w.next = now.Add(answerTime / 6)
		_ = w.control.SetWriteDeadline(now.Add(answerTime))
	}
}
