package media

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// minBytesPerSecond is the minimum rate at which a client must send an upload and
	// receive a file, in bytes a second. It rises when places become scarce; see
	// places.minRate.
	minBytesPerSecond = 16 << 10
	// sendGrace and receiveGrace are how long a client may stay below the minimum rate:
	// at the beginning, and whenever it has kept the rate for as long. receiveGrace is
	// longer, because the system takes much of a file into its buffers at once.
	sendGrace, receiveGrace = 15 * time.Second, 30 * time.Second
)

// speed is the minimum speed of a transfer.
type speed struct {
	grace          time.Duration
	bytesPerSecond func() int64
}

func minimum() int64 { return minBytesPerSecond }

// allowance is how long a transfer may still wait for its peer. Waiting uses it up, and
// each byte adds the time that it may take at the minimum speed. It never exceeds the
// grace, so that a fast start does not pay for a stall.
type allowance struct {
	speed

	left time.Duration
}

func (s speed) begin() allowance { return allowance{s, s.grace} }

// spend records that it took the given time to transfer n bytes.
func (a *allowance) spend(waited time.Duration, n int) {
	a.left = min(a.left-waited+time.Duration(n)*time.Second/time.Duration(a.bytesPerSecond()), a.grace)
}

// WithMinRate lets a request exceed the server's timeouts as long as its body and its
// response keep the minimum rate of 16 KiB/s.
func WithMinRate(next http.Handler) http.Handler {
	return withMinRate(next, speed{sendGrace, minimum}, speed{receiveGrace, minimum})
}

func withMinRate(next http.Handler, send, receive speed) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.ContentLength != 0 {
			r.Body = &minRateBody{r.Body, control, send.begin()}
		}
		next.ServeHTTP(&minRateWriter{w, control, receive.begin()}, r)
	})
}

// ErrSlow is returned by a read of a request body that falls below the minimum rate.
var ErrSlow = errors.New("the upload is too slow")

// minRateBody is a request body that has a minimum rate. On connections without
// deadlines, it does not enforce the rate.
type minRateBody struct {
	io.ReadCloser

	control *http.ResponseController
	allowed allowance
}

func (b *minRateBody) Read(p []byte) (int, error) {
	begin := time.Now()
	_ = b.control.SetReadDeadline(begin.Add(b.allowed.left)) // fails on connections without deadlines
	n, err := b.ReadCloser.Read(p)
	b.allowed.spend(time.Since(begin), n)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrSlow
	}
	return n, err
}

// minRateWriter is a response that has a minimum rate.
type minRateWriter struct {
	http.ResponseWriter

	control *http.ResponseController
	allowed allowance
}

// Unwrap lets http.ResponseController reach the connection.
func (w *minRateWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *minRateWriter) WriteHeader(status int) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.allowed.left))
	w.ResponseWriter.WriteHeader(status)
}

func (w *minRateWriter) Write(p []byte) (int, error) {
	begin := time.Now()
	_ = w.control.SetWriteDeadline(begin.Add(w.allowed.left)) // fails on connections without deadlines
	n, err := w.ResponseWriter.Write(p)
	w.allowed.spend(time.Since(begin), n)
	return n, err
}
