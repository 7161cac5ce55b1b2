package main

import (
	"bufio"
	"errors"
	"fmt"
	"time"

	"ovation/storage"
	"ovation/worker/events"
)

// eventsFlag switches on the log of events in a process that changes data.
type eventsFlag struct {
	Events   bool `help:"Log every change as an event, for ovation events; must be the same for all processes." negatable:"" env:"OVATION_EVENTS"`
	Trending bool `help:"Compute which subjects are interacted with most, for the query trending; must be the same for all processes. Logs events, and without --events keeps them for a day." negatable:"" env:"OVATION_TRENDING"`
}

// trendingKeep is how long events are kept that are logged for trends alone. It bounds how
// long trends may not be computed without lacking events.
const trendingKeep = 24 * time.Hour

// eventOptions returns the options of a store. The configuration decides which changes are
// logged.
func (f eventsFlag) eventOptions(config siteConfig) storage.EventOptions {
	if !f.Events && !f.Trending {
		return storage.EventOptions{}
	}
	return storage.EventOptions{Log: config.policies.Events}
}

// keptEventsFlags are the flags of a process that also prunes events.
type keptEventsFlags struct {
	eventsFlag   `embed:""`
	webhookFlags `embed:""`

	EventsKeep lifetime `default:"168h" help:"How long to keep events." env:"OVATION_EVENTS_KEEP"`
}

// checkEvents returns a usage error if there are webhooks and nothing to post.
func (f keptEventsFlags) checkEvents() error {
	if len(f.Webhooks) > 0 && !f.Events {
		return usage("--webhook or OVATION_WEBHOOK posts events, which are logged only with --events or OVATION_EVENTS=true")
	}
	return f.checkWebhooks()
}

// eventOptions returns the options of a store.
func (f keptEventsFlags) eventOptions(config siteConfig) storage.EventOptions {
	options := f.eventsFlag.eventOptions(config)
	if options.Keep = time.Duration(f.EventsKeep); !f.Events {
		options.Keep = min(options.Keep, trendingKeep)
	}
	return options
}

// eventsCommand prints the log of events.
type eventsCommand struct {
	eventLogFlags `embed:""`

	From   string `default:"start" help:"Begin after the event with this id, at the start of the log, or at its end." placeholder:"ID|start|end" env:"OVATION_EVENTS_FROM"`
	Follow bool   `help:"At the end of the log, wait for more." env:"OVATION_EVENTS_FOLLOW"`
	Biz    string `help:"Only events of this kind of content." placeholder:"BIZ" type:"biz" env:"OVATION_EVENTS_BIZ"`
	Tenant string `help:"Only events of this tenant." placeholder:"TENANT" type:"tenant" env:"OVATION_EVENTS_TENANT"`
}

// Help returns the text between the command's summary and its flags.
func (*eventsCommand) Help() string {
	return `Every line is an event in the JSON format of CloudEvents 1.0, from the data folder or, if OVATION_POSTGRES_URL is set, from Postgres. A server may run at the same time; events are logged if it was started with --events.

Save the id of the last event that you have handled, and continue with --from ID. Every event is then printed at least once, and in the order of the changes. The id of an event never changes, so it identifies an event that is printed again. After the last event, or when it is stopped, the command writes the id to continue from to the standard error; with a filter, it may be ahead of the last event that was printed.

An id is refused if it belongs to another database, if events after it were pruned (--events-keep), or if the database was restored from a backup that does not reach it.

Exit codes: 0 printed, or stopped, 1 failed, 2 wrong flags, or an id that is refused.`
}

// Run prints events until the end of the log or, with --follow, until the program is
// stopped.
func (c *eventsCommand) Run(p *program) (err error) {
	log, err := c.openLog(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	stream, err := log.EventStream(p.ctx)
	if err != nil {
		return err
	}
	at := events.Cursor{Stream: stream.ID}
	if at.Position, err = c.start(stream); err != nil {
		return err
	}
	if stream.Last == 0 && !c.Follow {
		sayf(p.stderr, "There are no events yet; they are logged while a server runs with --events.\n")
		return nil
	}
	printed, err := c.print(p, log, &at)
	if err == nil || p.ctx.Err() != nil {
		sayf(p.stderr, "%d events; continue with: --from %s\n", printed, at)
		return nil
	}
	return fmt.Errorf("%w; continue with: --from %s", err, at)
}

// start returns the position that --from names.
func (c *eventsCommand) start(stream storage.EventStream) (int64, error) {
	switch c.From {
	case "start":
		return stream.First - 1, nil
	case "end":
		return stream.Last, nil
	}
	cursor, err := events.ParseCursor(c.From)
	if err != nil {
		return 0, usage("--from or OVATION_EVENTS_FROM: %q %w, or start, or end", c.From, err)
	}
	position, err := cursor.In(stream)
	switch {
	case errors.Is(err, storage.ErrEventsPruned):
		return 0, usage("--from or OVATION_EVENTS_FROM: %w: read the content of the database anew, or begin at the start of what is kept with --from start, and keep events for longer with --events-keep", err)
	case errors.Is(err, storage.ErrEventsAhead):
		return 0, usage("--from or OVATION_EVENTS_FROM: %w: the database was restored from a backup, so events after the backup are lost: read its content anew, and continue with --from end", err)
	case err != nil:
		return 0, usage("--from or OVATION_EVENTS_FROM: %w: events begin at --from start there", err)
	}
	return position, nil
}

// The pause before the end of the log is read again doubles from the minimum to the
// maximum while nothing is added.
const minEventsPause, maxEventsPause = 20 * time.Millisecond, 500 * time.Millisecond

// print prints the events after the cursor, and moves the cursor. It returns the number of
// events, and nil at the end of the log or if the context ends.
func (c *eventsCommand) print(p *program, log storage.EventLog, at *events.Cursor) (printed int, err error) {
	query := storage.EventsQuery{Tenant: c.Tenant, Biz: c.Biz}
	out, pause := bufio.NewWriterSize(p.stdout, 1<<16), minEventsPause
	for {
		query.After = at.Position
		page, err := log.Events(p.ctx, query)
		if err != nil {
			return printed, err
		}
		for i := range page.Events {
			line, err := events.Encode(at.Stream, &page.Events[i])
			if err != nil {
				return printed, err
			}
			_, _ = out.Write(append(line, '\n')) // Flush returns the error
		}
		if err := out.Flush(); err != nil {
			return printed, fmt.Errorf("write events: %w", err)
		}
		printed += len(page.Events)
		at.Position = page.Next
		switch {
		case page.Next > query.After:
			pause = minEventsPause
			continue
		case !c.Follow:
			return printed, nil
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, maxEventsPause)
		case <-p.ctx.Done():
			return printed, nil
		}
	}
}
