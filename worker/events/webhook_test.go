package events_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"ovation/internal/testing/must"
	"ovation/internal/testing/seed"
	"ovation/storage"
	"ovation/worker/events"
)

const (
	firstSecret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secondSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

// receiver is a webhook.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex
	accepted []string // ids of events
	subjects []string
	requests int
	// answer decides about a request; 204 if it is nil.
	answer func(w http.ResponseWriter, r *http.Request, body string) (status int)
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	status := http.StatusNoContent
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if r.answer != nil {
		status = r.answer(w, request, string(body))
	}
	if status < 300 {
		r.accepted = append(r.accepted, request.Header.Get("Webhook-Id"))
		_, subject, _ := strings.Cut(string(body), `"subject":"`)
		subject, _, _ = strings.Cut(subject, `"`)
		r.subjects = append(r.subjects, subject)
	}
	w.WriteHeader(status)
}

func (r *receiver) set(answer func(w http.ResponseWriter, r *http.Request, body string) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.accepted)
}

func webhook(t *testing.T, options events.WebhookOptions) *events.Webhook {
	t.Helper()
	for _, text := range []string{firstSecret, secondSecret} {
		secret, err := events.ParseSecret(text)
		must.Succeed(t, err)
		options.Secrets = append(options.Secrets, secret)
	}
	options.Logger, options.MinBackoff, options.MaxBackoff = quiet(), time.Millisecond, 10*time.Millisecond
	w, err := events.NewWebhook(options)
	must.Succeed(t, err)
	t.Cleanup(w.Close)
	return w
}

// consume runs a consumer until it has handled everything.
func consume(t *testing.T, d *database, w *events.Webhook) {
	t.Helper()
	c := events.NewConsumer(events.ConsumerOptions{Name: w.Name(), Log: d, Handler: w, PageSize: events.WebhookPage, Logger: quiet()})
	for more := true; more; {
		var err error
		more, err = c.Step(t.Context())
		must.Succeed(t, err)
	}
}

// TestWebhookIsSigned verifies a request as a receiver does.
func TestWebhookIsSigned(t *testing.T) {
	t.Parallel()
	d, r := openDatabase(t), receive(t)
	ids := d.like("1", "a")
	page, err := d.Events(t.Context(), storage.EventsQuery{})
	must.Succeed(t, err)
	want, err := events.Encode(page.Stream, &page.Events[0])
	must.Succeed(t, err)
	r.set(func(_ http.ResponseWriter, request *http.Request, body string) int {
		for _, secret := range []string{firstSecret, secondSecret} {
			verifier, err := standardwebhooks.NewWebhook(secret)
			if err == nil {
				err = verifier.Verify([]byte(body), request.Header)
			}
			if err != nil {
				t.Errorf("the signature: %v", err)
			}
		}
		if body != string(want) || request.Method != http.MethodPost || request.Header.Get("Content-Type") != "application/cloudevents+json; charset=UTF-8" {
			t.Errorf("got %s %s %v, want the event %s", request.Method, body, request.Header, want)
		}
		return http.StatusOK
	})
	consume(t, d, webhook(t, events.WebhookOptions{URL: r.URL, Log: d}))
	if got := r.ids(); fmt.Sprint(got) != fmt.Sprint(ids) {
		t.Errorf("got the events %v, want %v", got, ids)
	}
}

// TestWebhookKeepsTheOrderOfASubject lets a receiver fail at random.
func TestWebhookKeepsTheOrderOfASubject(t *testing.T) {
	t.Parallel()
	d, r := openDatabase(t), receive(t)
	want := map[string][]string{}
	for n := range 30 {
		subject := fmt.Sprint(n % 5)
		want["video/"+subject] = append(want["video/"+subject], d.like(subject, fmt.Sprint("a", n), fmt.Sprint("b", n), fmt.Sprint("c", n), fmt.Sprint("d", n), fmt.Sprint("e", n))...)
	}
	random := rand.New(rand.NewPCG(seed.Of(t), 1))
	r.set(func(http.ResponseWriter, *http.Request, string) int {
		return []int{204, 200, 200, 500, 503, 302}[random.IntN(6)]
	})
	consume(t, d, webhook(t, events.WebhookOptions{URL: r.URL, Log: d}))
	got := map[string][]string{}
	for i, id := range r.ids() {
		got[r.subjects[i]] = append(got[r.subjects[i]], id)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got the events %v, want %v", got, want)
	}
}

// TestWebhookOutageLosesNothing stops a consumer while the receiver is overloaded, and
// continues when it has recovered. No event is dead-lettered.
func TestWebhookOutageLosesNothing(t *testing.T) {
	t.Parallel()
	d, r := openDatabase(t), receive(t)
	ids := d.like("1", "a", "b")
	var down sync.WaitGroup
	down.Add(30)
	times := 0
	r.set(func(http.ResponseWriter, *http.Request, string) int {
		if times++; times <= 30 {
			down.Done()
		}
		if times%8 == 0 {
			panic(http.ErrAbortHandler) // no answer
		}
		return []int{0, 408, 425, 429, 500, 401, 403, 404}[times%8]
	})
	w := webhook(t, events.WebhookOptions{URL: r.URL, Log: d})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		events.NewConsumer(events.ConsumerOptions{Name: w.Name(), Log: d, Handler: w, Logger: quiet()}).Run(ctx)
	}()
	down.Wait()
	stop()
	<-ended
	r.set(nil)
	consume(t, d, w)
	if got := r.ids(); fmt.Sprint(got) != fmt.Sprint(ids) {
		t.Errorf("got the events %v, want %v", got, ids)
	}
	dead, err := d.DeadEvents(t.Context(), "", 10)
	must.Succeed(t, err)
	if len(dead) != 0 {
		t.Errorf("the events %+v are dead, want none", dead)
	}
}

// TestRefusedEventsAreDeadLettered refuses the events of a subject.
func TestRefusedEventsAreDeadLettered(t *testing.T) {
	t.Parallel()
	d, r := openDatabase(t), receive(t)
	first := d.like("1", "a")
	d.like("bad", "a")
	last := d.like("1", "b")
	r.set(func(_ http.ResponseWriter, _ *http.Request, body string) int {
		if strings.Contains(body, "video/bad") {
			return http.StatusUnprocessableEntity
		}
		return http.StatusAccepted
	})
	w := webhook(t, events.WebhookOptions{URL: r.URL, Log: d})
	consume(t, d, w)
	if got, want := r.ids(), slices.Concat(first, last); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got the events %v, want %v", got, want)
	}
	dead, err := d.DeadEvents(t.Context(), "", 10)
	must.Succeed(t, err)
	if len(dead) != 1 || dead[0].Event.Subject.BizID != "bad" || dead[0].Consumer != w.Name() || dead[0].Reason != "the webhook answered 422 Unprocessable Entity" {
		t.Errorf("the events %+v are dead, want the one about the subject bad", dead)
	}
	if r.requests != 5 {
		t.Errorf("got %d requests, want that the refused event is posted three times", r.requests)
	}
}

// TestAnswersOfWebhooks posts an event to receivers of all kinds.
func TestAnswersOfWebhooks(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.like("1", "a")
	page, err := d.Events(t.Context(), storage.EventsQuery{})
	must.Succeed(t, err)
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter) int
		want   string
	}{
		"accepts":        {func(http.ResponseWriter) int { return 202 }, ""},
		"refuses":        {func(http.ResponseWriter) int { return 410 }, "the webhook answered 410 Gone"},
		"redirects":      {func(w http.ResponseWriter) int { w.Header().Set("Location", "/other"); return 307 }, "the webhook answered 307 Temporary Redirect; redirects are not followed"},
		"unknown status": {func(http.ResponseWriter) int { return 599 }, "the webhook answered 599"},
		"long answer": {func(w http.ResponseWriter) int {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(make([]byte, 1<<20))
			return 0
		}, "the webhook answered 400 Bad Request"},
		"hangs up": {func(http.ResponseWriter) int { panic(http.ErrAbortHandler) }, "the webhook does not answer: EOF"},
		"no HTTP":  {func(w http.ResponseWriter) int { hijack(t, w); return 0 }, "the webhook does not answer: net/http: HTTP/1.x transport connection broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if status := c.answer(w); status != 0 {
					w.WriteHeader(status)
				}
			}))
			t.Cleanup(server.Close)
			w := webhook(t, events.WebhookOptions{URL: server.URL + "/?password=hidden", Log: d})
			err := w.Post(t.Context(), page.Stream, &page.Events[0])
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.HasPrefix(got, c.want) || strings.Contains(got, "hidden") || strings.Contains(w.Name(), "hidden") {
				t.Errorf("got the error %v of %s, want %s", err, w.Name(), c.want)
			}
		})
	}
}

func hijack(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = connection.Write([]byte("SSH-2.0\r\n\r\n"))
	_ = connection.Close()
}

// TestRetryAfterIsRespected asks to wait for a second once.
func TestRetryAfterIsRespected(t *testing.T) {
	t.Parallel()
	d, r := openDatabase(t), receive(t)
	d.like("1", "a")
	var times []time.Time
	r.set(func(w http.ResponseWriter, _ *http.Request, _ string) int {
		if times = append(times, time.Now()); len(times) == 1 {
			w.Header().Set("Retry-After", "1")
			return http.StatusTooManyRequests
		}
		return http.StatusOK
	})
	consume(t, d, webhook(t, events.WebhookOptions{URL: r.URL, Log: d}))
	if len(times) != 2 || times[1].Sub(times[0]) < time.Second {
		t.Errorf("got requests at %v, want two at least a second apart", times)
	}
}

func TestWebhookURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://example.com/hooks?a=b": "",
		"http://localhost:8080":         "",
		"http://127.0.0.1:8080/x":       "",
		"http://[::1]/":                 "",
		"http://example.com":            "must be https",
		"http://127.0.0.1.example.com":  "must be https",
		"https://":                      "must be https://HOST/PATH",
		"example.com":                   "must be https://HOST/PATH",
		"ftp://example.com":             "must be https://HOST/PATH",
		"https://example.com/#part":     "fragment",
		"https://example.com:port":      "is not a URL",
		"":                              "must be https://HOST/PATH",
	} {
		_, err := events.NewWebhook(events.WebhookOptions{URL: url})
		if want == "" && err != nil || want != "" && (!errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got the error %v, want %q", url, err, want)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		firstSecret: true,
		strings.TrimPrefix(firstSecret, "whsec_"): false,
		"whsec_":     false,
		"whsec_AAAA": false,
		firstSecret[:20] + "!" + firstSecret[21:]: false,
		"whsec_" + strings.Repeat("A", 88):        false, // 66 bytes
		"":                                        false,
	} {
		secret, err := events.ParseSecret(text)
		if (err == nil) != valid || err != nil && len(text) > 10 && strings.Contains(err.Error(), text) {
			t.Errorf("%q: got the error %v, want valid: %v", text, err, valid)
		}
		if printed := fmt.Sprintf("%v %s", secret, secret); strings.Contains(printed, "MfKQ") {
			t.Errorf("a secret is printed: %s", printed)
		}
	}
}
