package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage"
	"ovation/worker/events"
)

// webhookFlags are the flags of a command that posts events to webhooks.
type webhookFlags struct {
	Webhooks       []webhookURL    `help:"URLs to which every event is posted, comma-separated; https, or http to this machine." name:"webhook" placeholder:"URL,…" env:"OVATION_WEBHOOK"`
	WebhookSecrets []webhookSecret `help:"Secrets that sign posts to webhooks, comma-separated: whsec_ and base64. Two while one replaces the other." name:"webhook-secret" placeholder:"SECRET,…" env:"OVATION_WEBHOOK_SECRET"`
}

// webhookURL is a URL to which events can be posted.
type webhookURL string

// UnmarshalText rejects other URLs.
func (u *webhookURL) UnmarshalText(text []byte) error {
	trimmed := strings.TrimSpace(string(text))
	if err := events.ValidateWebhookURL(trimmed); err != nil {
		return err
	}
	*u = webhookURL(trimmed)
	return nil
}

// webhookSecret is a secret that signs what is posted to webhooks.
type webhookSecret struct{ events.Secret }

// UnmarshalText rejects malformed secrets.
func (s *webhookSecret) UnmarshalText(text []byte) (err error) {
	s.Secret, err = events.ParseSecret(strings.TrimSpace(string(text)))
	return err
}

// checkWebhooks returns a usage error unless the webhooks can be used.
func (f webhookFlags) checkWebhooks() error {
	if len(f.Webhooks) > 0 && len(f.WebhookSecrets) == 0 {
		return usage(`--webhook or OVATION_WEBHOOK needs a secret to sign the requests: set OVATION_WEBHOOK_SECRET (echo "whsec_$(openssl rand -base64 32)" makes one)`)
	}
	seen := map[webhookURL]bool{}
	for _, url := range f.Webhooks {
		if seen[url] {
			return usage("--webhook or OVATION_WEBHOOK names a URL twice")
		}
		seen[url] = true
	}
	return nil
}

// openWebhooks returns the webhooks.
func (f webhookFlags) openWebhooks(log storage.EventLog, logger *slog.Logger, registry prometheus.Registerer) ([]*events.Webhook, error) {
	if err := f.checkWebhooks(); err != nil {
		return nil, err
	}
	secrets := make([]events.Secret, len(f.WebhookSecrets))
	for i, s := range f.WebhookSecrets {
		secrets[i] = s.Secret
	}
	var all []*events.Webhook
	for _, url := range f.Webhooks {
		webhook, err := events.NewWebhook(events.WebhookOptions{
			URL: string(url), Secrets: secrets, Log: log, Logger: logger, Registry: registry,
		})
		if err != nil {
			return nil, withFlag("--webhook or OVATION_WEBHOOK", err)
		}
		all = append(all, webhook)
	}
	return all, nil
}

// webhooksCommand lists, replays and drops dead events: those that webhooks have refused.
type webhooksCommand struct {
	List   webhooksListCommand   `cmd:"" group:"commands" help:"List dead events, oldest first, with their reasons."`
	Replay webhooksReplayCommand `cmd:"" group:"commands" help:"Post a dead event again, or all of them."`
	Drop   webhooksDropCommand   `cmd:"" example:"ovation webhooks drop ID, with an ID that ovation webhooks list prints" group:"commands" help:"Delete a dead event."`
}

// eventLogFlags are the flags of a command that reads the log of events in either mode.
type eventLogFlags struct {
	dataFlag     `embed:""`
	postgresFlag `embed:""`
}

// closableLog is a log of events that a command has opened.
type closableLog interface {
	storage.EventLog
	io.Closer
}

// openLog opens the log.
func (f eventLogFlags) openLog(p *program) (closableLog, error) {
	if name := firstSet(p.getenv, distributed...); name != "" && f.PostgresURL == "" {
		return nil, usage("%s is set and OVATION_POSTGRES_URL is not: set it, or unset %s to read the data folder", name, name)
	}
	if f.PostgresURL == "" {
		return f.openSQLite(p.ctx, false, storage.EventOptions{})
	}
	return f.openPostgres(p.ctx, discardLog, p.now, storage.EventOptions{})
}

// webhooksListCommand lists dead events.
type webhooksListCommand struct {
	eventLogFlags `embed:""`

	Limit int `default:"100" help:"Maximum number of events to list." env:"OVATION_DEAD_LIMIT"`
}

// Run prints one line per event.
func (c *webhooksListCommand) Run(p *program) error {
	if c.Limit < 1 {
		return usage("--limit is %d; it must be at least 1", c.Limit)
	}
	return c.withLog(p, func(log storage.EventLog, stream storage.EventStream) error {
		dead, err := log.DeadEvents(p.ctx, "", c.Limit+1)
		if err != nil {
			return err
		}
		if len(dead) == 0 {
			sayf(p.stdout, "There are no dead events: no webhook has refused any.\n")
			return nil
		}
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		sayf(table, "ID\tSINCE\tWEBHOOK\tTYPE\tSUBJECT\tREASON\n")
		for i := range dead[:min(len(dead), c.Limit)] {
			d := &dead[i]
			sayf(table, "%s\t%s\t%s\t%s\t%s/%s\t%s\n", events.Cursor{Stream: stream.ID, Position: d.Event.Position}, storage.Time(d.At).Format(time.RFC3339),
				printable(d.Consumer), d.Event.Type, d.Event.Subject.Biz, printable(d.Event.Subject.BizID), shortened(d.Reason))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if len(dead) > c.Limit {
			sayf(p.stdout, "There are more; a higher --limit lists them.\n")
		}
		return nil
	})
}

// withLog opens the log of events, passes it to the function use, and closes it.
func (f eventLogFlags) withLog(p *program, use func(storage.EventLog, storage.EventStream) error) (err error) {
	log, err := f.openLog(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	stream, err := log.EventStream(p.ctx)
	if err != nil {
		return err
	}
	return use(log, stream)
}

// webhooksReplayCommand posts dead events again.
type webhooksReplayCommand struct {
	eventLogFlags `embed:""`
	webhookFlags  `embed:""`

	ID string `arg:"" help:"The id of the event, as listed." optional:""`
	// All has no environment variable: a variable that stays set would also apply to later
	// replays.
	All bool `help:"Replay all of them."`
}

// Run posts one event, or all of them, each once. An event that is accepted is deleted. Run
// stops if a webhook does not answer.
func (c *webhooksReplayCommand) Run(p *program) error {
	if (c.ID == "") != c.All {
		return usage("name one event, or write --all; ovation webhooks list prints their ids")
	}
	if len(c.Webhooks) == 0 {
		return usage("ovation webhooks replay needs the webhooks: set OVATION_WEBHOOK and OVATION_WEBHOOK_SECRET as for the workers")
	}
	return c.withLog(p, func(log storage.EventLog, stream storage.EventStream) error {
		webhooks, err := c.openWebhooks(log, discardLog, nil)
		if err != nil {
			return err
		}
		var total replayed
		for _, w := range webhooks {
			if err == nil {
				err = c.replay(p, log, stream, w, &total)
			}
			w.Close()
		}
		sayf(p.stdout, "%s replayed\n", countEvents(total.accepted))
		switch {
		case err != nil:
			return err
		case total.refused > 0:
			return fmt.Errorf("%s refused again, the first with: %w", countEvents(total.refused), total.first)
		case total.accepted == 0 && !c.All:
			return errNoDeadEvent(c.ID)
		}
		return nil
	})
}

// replayed counts dead events that were posted again.
type replayed struct {
	accepted, refused int
	first             error
}

// replay posts the dead events of a webhook.
func (c *webhooksReplayCommand) replay(p *program, log storage.EventLog, stream storage.EventStream, w *events.Webhook, total *replayed) error {
	dead, err := log.DeadEvents(p.ctx, w.Name(), storage.MaxDeadEvents)
	if err != nil {
		return err
	}
	for i := range dead {
		e := &dead[i].Event
		if !c.All && (events.Cursor{Stream: stream.ID, Position: e.Position}).String() != c.ID {
			continue
		}
		err := w.Post(p.ctx, stream.ID, e)
		if errors.Is(err, events.ErrNoAnswer) {
			return err
		}
		if err != nil {
			total.refused++
			total.first = cmp.Or(total.first, err)
			continue
		}
		if _, err := log.DropDeadEvent(p.ctx, w.Name(), e.Position); err != nil {
			return err
		}
		total.accepted++
	}
	return nil
}

func errNoDeadEvent(id string) error {
	return fmt.Errorf("there is no dead event %q of these webhooks; ovation webhooks list prints the ids", id)
}

// countEvents returns n followed by "event" or "events".
func countEvents(n int) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}

// webhooksDropCommand deletes a dead event.
type webhooksDropCommand struct {
	eventLogFlags `embed:""`

	ID string `arg:"" help:"The id of the event, as listed."`
}

// Run deletes the event for all webhooks.
func (c *webhooksDropCommand) Run(p *program) error {
	return c.withLog(p, func(log storage.EventLog, stream storage.EventStream) error {
		cursor, err := events.ParseCursor(c.ID)
		if err != nil || cursor.Stream != stream.ID {
			return errNoDeadEvent(c.ID)
		}
		n, err := log.DropDeadEvent(p.ctx, "", cursor.Position)
		if err == nil && n == 0 {
			return errNoDeadEvent(c.ID)
		}
		if err == nil {
			sayf(p.stdout, "dropped\n")
		}
		return err
	})
}
