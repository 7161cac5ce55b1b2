package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rabbitmq/amqp091-go"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage/storagetest"
)

const webhookTestSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// webhookReceiver is a webhook that verifies signatures, and refuses events with a certain
// text.
type webhookReceiver struct {
	*httptest.Server

	mu      sync.Mutex
	refused string
	got     []string // type and subject of each event, once
	seen    map[string]bool
	again   int // events that it got again
}

func newWebhookReceiver(t *testing.T) *webhookReceiver {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(webhookTestSecret)
	must.Succeed(t, err)
	r := &webhookReceiver{seen: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err == nil {
			err = verifier.Verify(body, request.Header)
		}
		e, wrong := storagetest.ParseEvent(body)
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case err != nil || wrong != nil:
			t.Errorf("got %s: %v, %v", body, err, wrong)
		case r.refused != "" && strings.Contains(string(body), r.refused):
			w.WriteHeader(http.StatusUnprocessableEntity)
		case r.seen[e.ID]:
			r.again++
		default:
			r.seen[e.ID] = true
			r.got = append(r.got, e.Type+" "+e.Subject)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *webhookReceiver) refuse(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = text
}

func (r *webhookReceiver) has(want ...string) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return fmt.Sprint(r.got) == fmt.Sprint(want)
	}
}

// TestWebhooksOfDev posts the events of ovation dev to a webhook that refuses one of them,
// until it is replayed.
func TestWebhooksOfDev(t *testing.T) {
	t.Parallel()
	data, r := emptyData(t), newWebhookReceiver(t)
	flags := []string{"--webhook=" + r.URL + "/hook?key=hidden", "--webhook-secret=" + webhookTestSecret}
	start := func() *server { return serveBinary(t, data, append(flags, "--events")...) }
	s := start()
	like := func(id string) {
		t.Helper()
		must.Succeed(t, s.graphQL("alice", fmt.Sprintf(`mutation { like(input: {biz: "video", bizId: %q}) { changed } }`, id), nil))
	}
	list := func(want ...string) (id string) {
		t.Helper()
		got := call(t, environment(), "webhooks", "list", "--data="+data)
		got.want(t, 0, want...)
		if strings.Contains(got.stdout, "hidden") {
			t.Errorf("the list contains the URL of the webhook: %s", got.stdout)
		}
		for line := range strings.Lines(got.stdout) {
			id, _, _ = strings.Cut(line, " ")
		}
		return id
	}
	like("1")
	await.That(t, "the first event is posted", r.has("ovation.liked video/1"))
	list("There are no dead events")
	r.refuse("video/bad")
	like("bad")
	like("2")
	await.That(t, "the event after the refused one is posted", r.has("ovation.liked video/1", "ovation.liked video/2"))
	await.That(t, "the refused event is dead-lettered", func() bool {
		return strings.Contains(call(t, environment(), "webhooks", "list", "--data="+data).stdout, "video/bad")
	})
	s.stop().want(t, 0)
	s = start()
	like("3")
	await.That(t, "events are posted after a restart", r.has("ovation.liked video/1", "ovation.liked video/2", "ovation.liked video/3"))
	if r.again > 0 {
		t.Errorf("%d events were posted again after an orderly restart, want none", r.again)
	}

	id := list("liked", "video/bad", "webhook:127.0.0.1:", "the webhook answered 422")
	replay := func(args ...string) programResult {
		t.Helper()
		return call(t, environment(), append(append([]string{"webhooks", "replay", "--data=" + data}, flags...), args...)...)
	}
	replay(id).want(t, exitFailed, "0 events replayed", "1 event refused again", "422")
	replay("another").want(t, exitFailed, "no dead event")
	replay().want(t, exitUsage, "--all")
	call(t, environment(), "webhooks", "replay", "--all", "--data="+data).want(t, exitUsage, "OVATION_WEBHOOK")
	r.refuse("")
	replay("--all").want(t, 0, "1 event replayed")
	list("There are no dead events")
	await.That(t, "the replayed event has arrived", r.has("ovation.liked video/1", "ovation.liked video/2", "ovation.liked video/3", "ovation.liked video/bad"))

	r.refuse("video/worse")
	like("worse")
	await.That(t, "another event is dead-lettered", func() bool {
		return strings.Contains(call(t, environment(), "webhooks", "list", "--data="+data).stdout, "video/worse")
	})
	id = list("video/worse")
	call(t, environment(), "webhooks", "drop", id, "--data="+data).want(t, 0, "dropped")
	call(t, environment(), "webhooks", "drop", id, "--data="+data).want(t, exitFailed, "no dead event")
	list("There are no dead events")
	if log := s.log(); strings.Contains(log, "hidden") || !strings.Contains(log, "a webhook has refused events") {
		t.Errorf("got the log\n%s\nwant the refusal, and not the URL", log)
	}
}

// TestWorkersRelayEvents lets users act while workers are killed. A queue at the exchange
// and a webhook get every event.
func TestWorkersRelayEvents(t *testing.T) {
	t.Parallel()
	r, site := newWebhookReceiver(t), newSite(t)
	site.variables["OVATION_EVENTS"] = "true"
	site.variables["OVATION_WEBHOOK"], site.variables["OVATION_WEBHOOK_SECRET"] = r.URL, webhookTestSecret
	first, node := site.start(t, "work"), site.start(t, "serve")
	var queue string
	connection, err := amqp091.Dial(site.variables["OVATION_RABBITMQ_URL"])
	must.Succeed(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	channel, err := connection.Channel()
	must.Succeed(t, err)
	declared, err := channel.QueueDeclare("", false, true, true, false, nil)
	must.Succeed(t, err)
	queue = declared.Name
	must.Succeed(t, channel.ExchangeDeclare(site.prefix+".events", amqp091.ExchangeTopic, true, false, false, false, nil))
	must.Succeed(t, channel.QueueBind(queue, "default.*.liked", site.prefix+".events", false, nil))
	var want []string
	for i := range 20 {
		must.Succeed(t, node.graphQL("alice", fmt.Sprintf(`mutation { like(input: {biz: "video", bizId: "%d"}) { changed } }`, i), nil))
		must.Succeed(t, node.graphQL("alice", fmt.Sprintf(`mutation { collect(input: {biz: "video", bizId: "%d"}) { changed } }`, i), nil))
		want = append(want, fmt.Sprint("ovation.liked video/", i))
		if i == 10 {
			first.kill()
			site.start(t, "work")
		}
	}
	seen := map[string]bool{}
	await.That(t, "the queue has the likes", func() bool {
		for {
			d, there, err := channel.Get(queue, true)
			must.Succeed(t, err)
			if !there {
				return len(seen) == len(want)
			}
			e, err := storagetest.ParseEvent(d.Body)
			must.Succeed(t, err)
			if d.MessageId != e.ID || d.RoutingKey != "default.video.liked" || e.Type != "ovation.liked" {
				t.Errorf("got %+v with the routing key %s and the id %s", e, d.RoutingKey, d.MessageId)
			}
			seen[e.Subject] = true
		}
	})
	await.That(t, "the webhook has all events", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.got) == 2*len(want)
	})
	site.logged(t)
}

// TestWebhookFlagsAreChecked starts with flags that cannot work.
func TestWebhookFlagsAreChecked(t *testing.T) {
	t.Parallel()
	valid := []string{"--events", "--webhook=https://example.com", "--webhook-secret=" + webhookTestSecret}
	for name, c := range map[string]struct {
		flags []string
		want  string
	}{
		"without events":   {valid[1:], "--events"},
		"without a secret": {valid[:2], "OVATION_WEBHOOK_SECRET"},
		"a short secret":   {append(valid[:2:2], "--webhook-secret=whsec_AAAA"), "24 to 64 random bytes"},
		"plain http":       {append(valid[2:], "--events", "--webhook=http://example.com"), "https"},
		"no URL":           {append(valid[2:], "--events", "--webhook=example.com"), "https://HOST/PATH"},
		"twice":            {append(valid[:3:3], "--webhook=https://example.com"), "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			got := call(t, environment(), append([]string{"dev", "--addr=127.0.0.1:0", "--data=" + t.TempDir()}, c.flags...)...)
			got.want(t, exitUsage, c.want)
			if strings.Contains(got.stderr, "whsec_AAAA") {
				t.Errorf("the secret is printed: %s", got.stderr)
			}
		})
	}
}
