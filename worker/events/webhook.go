package events

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/sync/errgroup"

	"ovation/internal/outage"
	"ovation/storage"
)

const (
	// WebhookPage is the number of events that a webhook may get again after a restart.
	WebhookPage = 100
	// webhookRequests is the maximum number of concurrent requests to a webhook. Requests
	// about one subject are never concurrent.
	webhookRequests = 16
	// webhookTimeout bounds a request. Standard Webhooks recommends 15 to 30 s.
	webhookTimeout = 15 * time.Second
	// maxRefusals is how often a webhook may refuse an event before it is dead-lettered.
	maxRefusals = 3
	// maxRetryAfter bounds the wait that a webhook asks for.
	maxRetryAfter = 10 * time.Minute
	// maxAnswerBytes is how much of an answer is read, so that the connection can be used
	// again.
	maxAnswerBytes = 64 << 10
)

// WebhookOptions configure a Webhook. URL, Secrets and Log are required.
type WebhookOptions struct {
	// URL is where events are posted: https, or http to a loopback address.
	URL string
	// Secrets sign every request. More than one is used while a secret is replaced.
	Secrets []Secret
	// MinBackoff and MaxBackoff bound the wait between two attempts, which doubles each
	// time, with a jitter of 50 %; 200 ms and 1 min if 0.
	MinBackoff, MaxBackoff time.Duration
	Log                    storage.EventLog
	// Logger logs outages of the webhook; slog.Default() if nil.
	Logger *slog.Logger
	// Registry registers the metrics. If it is nil, there are none.
	Registry prometheus.Registerer
}

// Webhook posts events to a URL, one at a time for each subject. It implements Handler.
// Use it with pages of WebhookPage events.
type Webhook struct {
	opts   WebhookOptions
	client *http.Client
	outage *outage.Log
	failed prometheus.Counter
	dead   prometheus.Counter
	logger *slog.Logger
}

// NewWebhook returns a Webhook. Errors: storage.ErrInvalid for the URL.
func NewWebhook(opts WebhookOptions) (*Webhook, error) {
	if err := ValidateWebhookURL(opts.URL); err != nil {
		return nil, &storage.InvalidError{Field: "webhook", Reason: err.Error()}
	}
	opts.MinBackoff = cmp.Or(opts.MinBackoff, 200*time.Millisecond)
	opts.MaxBackoff = cmp.Or(opts.MaxBackoff, time.Minute)
	w := &Webhook{opts: opts, client: &http.Client{
		Timeout: webhookTimeout,
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: webhookRequests,
			MaxConnsPerHost:     webhookRequests,
			IdleConnTimeout:     time.Minute,
			TLSHandshakeTimeout: 5 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	w.logger = cmp.Or(opts.Logger, slog.Default()).With("consumer", w.Name())
	w.outage = outage.New(w.logger, "a webhook does not accept events; retrying", "the webhook accepts events again")
	factory, label := promauto.With(opts.Registry), prometheus.Labels{"consumer": w.Name()}
	w.failed = factory.NewCounter(prometheus.CounterOpts{
		Name: "ovation_webhook_failures_total", ConstLabels: label,
		Help: "Requests to a webhook that failed.",
	})
	w.dead = factory.NewCounter(prometheus.CounterOpts{
		Name: "ovation_webhook_dead_events_total", ConstLabels: label,
		Help: "Events that were dead-lettered, because the webhook refused them.",
	})
	return w, nil
}

// ErrNoAnswer means that a webhook has not answered a request.
var ErrNoAnswer = errors.New("the webhook does not answer")

// ValidateWebhookURL returns an error unless events can be posted to the URL: it must be
// https, or http to a loopback address. The error does not contain the URL, which may hold
// a password.
func ValidateWebhookURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("is not a URL: write for example https://example.com/hooks")
	case u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("must be https://HOST/PATH")
	case u.Fragment != "":
		return errors.New("must not have a fragment (#), which is not sent")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("must be https, because anybody on the way could read and change the events; http is for this machine alone")
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Name returns the name of the webhook as a consumer of the log: its host and a hash of its
// URL, which may be secret.
func (w *Webhook) Name() string {
	u, err := url.Parse(w.opts.URL)
	if err != nil {
		return "webhook"
	}
	const longest = 100
	host, hash := u.Host, sha256.Sum256([]byte(w.opts.URL))
	return "webhook:" + host[:min(len(host), longest)] + ":" + hex.EncodeToString(hash[:4])
}

var _ Handler = (*Webhook)(nil)

// Handle posts the events of a page, those of different subjects concurrently, and saves
// the position and the dead events.
func (w *Webhook) Handle(ctx context.Context, lease storage.EventLease, page storage.EventPage) error {
	lanes := map[storage.Subject][]*storage.Event{}
	for i := range page.Events {
		e := &page.Events[i]
		lanes[e.Subject] = append(lanes[e.Subject], e)
	}
	var mu sync.Mutex
	var dead []storage.DeadEvent
	group, posting := errgroup.WithContext(ctx)
	group.SetLimit(webhookRequests)
	for _, lane := range lanes {
		group.Go(func() error {
			for _, e := range lane {
				reason, err := w.deliver(posting, page.Stream, e)
				if err != nil {
					return err
				}
				if reason != nil {
					mu.Lock()
					dead = append(dead, storage.DeadEvent{Consumer: lease.Consumer, Event: *e, Reason: reason.Error(), At: storage.Micros(time.Now())})
					mu.Unlock()
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	err := w.opts.Log.SaveEvents(ctx, lease, page.Next, dead...)
	if errors.Is(err, storage.ErrDeadEventsFull) {
		return fmt.Errorf("%w: %s refuses too many events; replay or drop them with ovation webhooks", err, lease.Consumer)
	}
	if err != nil {
		return err
	}
	if w.dead.Add(float64(len(dead))); len(dead) > 0 {
		w.logger.Warn("a webhook has refused events; see ovation webhooks list",
			"events", len(dead), "first", Cursor{page.Stream, dead[0].Event.Position}, "reason", dead[0].Reason)
	}
	return nil
}

// deliver posts an event until the webhook accepts it. It returns the reason if the webhook
// has refused it maxRefusals times, and an error if ctx ends.
func (w *Webhook) deliver(ctx context.Context, stream string, e *storage.Event) (reason, err error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = w.opts.MinBackoff, w.opts.MaxBackoff, 2
	for refusals := 0; ; {
		err := w.Post(ctx, stream, e)
		if err == nil {
			w.outage.Worked()
			return nil, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.failed.Inc()
		pause := wait.NextBackOff()
		answer, is := errors.AsType[*answerError](err)
		if is {
			pause = max(pause, answer.after)
		}
		if is && answer.refuses() {
			if refusals++; refusals == maxRefusals {
				return err, nil
			}
		} else {
			w.outage.Failed("error", err, "event", Cursor{stream, e.Position})
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// answerError means that a webhook has answered with another status than 2xx.
type answerError struct {
	status int
	after  time.Duration // how long the webhook asks to wait
}

// Error names the status.
func (e *answerError) Error() string {
	text := fmt.Sprintf("the webhook answered %d %s", e.status, http.StatusText(e.status))
	if e.status >= 300 && e.status < 400 {
		text += "; redirects are not followed"
	}
	return strings.TrimSpace(text)
}

// refuses reports whether the answer says that the event is wrong. Otherwise the webhook is
// in trouble, overloaded, or not there, or does not know the secret.
func (e *answerError) refuses() bool {
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e.status >= 400 && e.status < 500
}

// Post posts an event once. It returns nil if the webhook has answered 2xx. The error does
// not contain the URL.
func (w *Webhook) Post(ctx context.Context, stream string, e *storage.Event) error {
	body, err := Encode(stream, e)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.opts.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL of the webhook cannot be used")
	}
	id, now := Cursor{stream, e.Position}.String(), time.Now()
	request.Header.Set("Content-Type", ContentType)
	request.Header.Set("User-Agent", "Ovation")
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	signatures := make([]string, len(w.opts.Secrets))
	for i, secret := range w.opts.Secrets {
		if signatures[i], err = secret.signer.Sign(id, now, body); err != nil {
			return errors.New("the secret of the webhook cannot be used")
		}
	}
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	response, err := w.client.Do(request)
	if err != nil {
		if inURL, is := errors.AsType[*url.Error](err); is {
			err = inURL.Err // the rest repeats the URL
		}
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswerBytes)
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil
	}
	return &answerError{response.StatusCode, retryAfter(response.Header.Get("Retry-After"), now)}
}

// retryAfter returns how long the header Retry-After asks to wait, at most maxRetryAfter.
func retryAfter(header string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// Close closes the idle connections.
func (w *Webhook) Close() { w.client.CloseIdleConnections() }
