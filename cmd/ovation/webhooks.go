package main

import (
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

// webhookFlags are the flags of what posts events to webhooks.
type webhookFlags struct {
	Webhooks        []webhookURL    `help:"URLs to which every event is posted, comma-separated; https, or http to this machine." name:"webhook" placeholder:"URL,…" variable:"OVATION_WEBHOOK"`
	WebhookSecrets  []webhookSecret `help:"Secrets that sign what is posted to webhooks, comma-separated: whsec_ and base64. Two while one replaces the other." name:"webhook-secret" placeholder:"SECRET,…" variable:"OVATION_WEBHOOK_SECRET"`
	WebhookPatience lifetime        `default:"15m" help:"How long an event is posted again while a webhook refuses it, before it is given up." variable:"OVATION_WEBHOOK_PATIENCE"`
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

// check returns a usage error unless the webhooks can be used.
func (f webhookFlags) check() error {
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

// open returns the webhooks.
func (f webhookFlags) open(log storage.EventLog, logger *slog.Logger, registry prometheus.Registerer) ([]*events.Webhook, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	secrets := make([]events.Secret, len(f.WebhookSecrets))
	for i, s := range f.WebhookSecrets {
		secrets[i] = s.Secret
	}
	var all []*events.Webhook
	for _, url := range f.Webhooks {
		webhook, err := events.NewWebhook(events.WebhookOptions{
			URL: string(url), Secrets: secrets, Patience: time.Duration(f.WebhookPatience), Log: log, Logger: logger, Registry: registry,
		})
		if err != nil {
			return nil, withFlag("--webhook or OVATION_WEBHOOK", err)
		}
		all = append(all, webhook)
	}
	return all, nil
}

// webhooksCommand lists, replays and drops events that webhooks have refused.
type webhooksCommand struct {
	List   webhooksListCommand   `cmd:"" help:"List the events that were given up, oldest first, with their reasons."`
	Replay webhooksReplayCommand `cmd:"" help:"Post an event that was given up again, or all of them."`
	Drop   webhooksDropCommand   `cmd:"" example:"ovation webhooks drop ID, with an ID that ovation webhooks list prints" help:"Forget an event that was given up."`
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

// webhooksListCommand lists events that were given up.
type webhooksListCommand struct {
	eventLogFlags `embed:""`

	Limit int `default:"100" help:"Maximum number of events to list." variable:"OVATION_DEAD_LIMIT"`
}

// Run prints one line per event.
func (c *webhooksListCommand) Run(p *program) (err error) {
	if c.Limit < 1 {
		return usage("--limit is %d; it must be at least 1", c.Limit)
	}
	log, err := c.openLog(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	stream, err := log.EventStream(p.ctx)
	if err != nil {
		return err
	}
	dead, err := log.DeadEvents(p.ctx, c.Limit+1)
	if err != nil {
		return err
	}
	if len(dead) == 0 {
		sayf(p.stdout, "No event was given up: the webhooks have accepted everything.\n")
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
}

// webhooksReplayCommand posts events that were given up again.
type webhooksReplayCommand struct {
	eventLogFlags `embed:""`
	webhookFlags  `embed:""`

	ID string `arg:"" help:"The id of the event, as listed." optional:""`
	// All has no environment variable: a variable that stays set would also apply to later
	// replays.
	All bool `help:"Replay all of them."`
}

// Run posts one event, or all of them, each once. An event that is accepted is forgotten.
func (c *webhooksReplayCommand) Run(p *program) (err error) {
	if (c.ID == "") != c.All {
		return usage("name one event, or write --all; ovation webhooks list prints their ids")
	}
	if len(c.Webhooks) == 0 {
		return usage("ovation webhooks replay needs the webhooks: set OVATION_WEBHOOK and OVATION_WEBHOOK_SECRET as for the workers")
	}
	log, err := c.openLog(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	webhooks, err := c.open(log, discardLog, nil)
	if err != nil {
		return err
	}
	stream, selects, err := c.selectEvents(p, log)
	if err != nil {
		return err
	}
	dead, err := log.DeadEvents(p.ctx, storage.MaxDeadEvents*max(1, len(webhooks)))
	if err != nil {
		return err
	}
	replayed, failed := 0, 0
	for i := range dead {
		d := &dead[i]
		webhook := byName(webhooks, d.Consumer)
		if !selects(d) || webhook == nil {
			continue
		}
		if err := webhook.Post(p.ctx, stream.ID, &d.Event); err != nil {
			if failed++; failed == 1 {
				sayf(p.stderr, "%s: %v\n", events.Cursor{Stream: stream.ID, Position: d.Event.Position}, err)
			}
			continue
		}
		if _, err := log.DropDeadEvent(p.ctx, d.Consumer, d.Event.Position); err != nil {
			return err
		}
		replayed++
	}
	sayf(p.stdout, "%d events replayed\n", replayed)
	switch {
	case failed > 0:
		return fmt.Errorf("%d events were refused again; ovation webhooks list prints them", failed)
	case replayed == 0 && !c.All:
		return errNoDeadEvent(c.ID)
	}
	return nil
}

// selectEvents returns a function that reports whether an event is to be replayed.
func (c *webhooksReplayCommand) selectEvents(p *program, log storage.EventLog) (stream storage.EventStream, selects func(*storage.DeadEvent) bool, err error) {
	if stream, err = log.EventStream(p.ctx); err != nil || c.All {
		return stream, func(*storage.DeadEvent) bool { return true }, err
	}
	position, err := deadPosition(c.ID, stream)
	return stream, func(d *storage.DeadEvent) bool { return d.Event.Position == position }, err
}

// deadPosition returns the position of the event with the given id.
func deadPosition(id string, stream storage.EventStream) (int64, error) {
	cursor, err := events.ParseCursor(id)
	if err != nil || cursor.Stream != stream.ID {
		return 0, errNoDeadEvent(id)
	}
	return cursor.Position, nil
}

func errNoDeadEvent(id string) error {
	return fmt.Errorf("no event %q was given up by these webhooks; ovation webhooks list prints the ids", id)
}

func byName(webhooks []*events.Webhook, name string) *events.Webhook {
	for _, w := range webhooks {
		if w.Name() == name {
			return w
		}
	}
	return nil
}

// webhooksDropCommand forgets an event that was given up.
type webhooksDropCommand struct {
	eventLogFlags `embed:""`

	ID string `arg:"" help:"The id of the event, as listed."`
}

// Run forgets the event for all webhooks.
func (c *webhooksDropCommand) Run(p *program) (err error) {
	log, err := c.openLog(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	stream, err := log.EventStream(p.ctx)
	if err != nil {
		return err
	}
	position, err := deadPosition(c.ID, stream)
	if err != nil {
		return err
	}
	dead, err := log.DeadEvents(p.ctx, storage.MaxDeadEvents)
	if err != nil {
		return err
	}
	dropped := false
	for i := range dead {
		if dead[i].Event.Position == position {
			one, err := log.DropDeadEvent(p.ctx, dead[i].Consumer, position)
			if err != nil {
				return err
			}
			dropped = dropped || one
		}
	}
	if !dropped {
		return errNoDeadEvent(c.ID)
	}
	sayf(p.stdout, "dropped\n")
	return nil
}
