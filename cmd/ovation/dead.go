package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"ovation/storage"
	"ovation/storage/redis"
	"ovation/worker/amqp"
)

// deadCommand looks after the messages that could not be persisted.
type deadCommand struct {
	List   deadListCommand   `cmd:"" help:"List the oldest messages put aside, with the reason."`
	Show   deadShowCommand   `cmd:"" help:"Show a message and what it says."`
	Replay deadReplayCommand `cmd:"" help:"Queue a message once more, or all of them."`
	Drop   deadDropCommand   `cmd:"" help:"Remove a message for good; its actions are lost."`
}

// deadFlags are those of all its commands.
type deadFlags struct {
	queueFlags `embed:""`
	prefixFlag `embed:""`
}

// with opens the queue of messages put aside for as long as use takes.
func (f deadFlags) with(ctx context.Context, use func(*amqp.Dead) error) (err error) {
	if f.RabbitMQURL == "" {
		return usage("ovation dead needs the queue: set OVATION_RABBITMQ_URL. ovation dev puts no message aside.")
	}
	dead, err := amqp.OpenDead(ctx, f.options(f.Prefix, quietly))
	if err != nil {
		return blame(blameQueue, err)
	}
	defer func() { err = errors.Join(err, dead.Close()) }()
	return use(dead)
}

// deadListCommand lists.
type deadListCommand struct {
	deadFlags `embed:""`

	Limit int `default:"100" help:"How many to list at most." variable:"OVATION_DEAD_LIMIT"`
}

// Run prints a line for each message.
func (c *deadListCommand) Run(p *program) error {
	if c.Limit < 1 {
		return usage("--limit is %d; write 1 or more", c.Limit)
	}
	return c.with(p.ctx, func(dead *amqp.Dead) error {
		letters, err := dead.List(p.ctx, c.Limit+1)
		if err != nil {
			return err
		}
		if len(letters) == 0 {
			sayf(p.stdout, "No message is put aside: the workers could persist everything.\n")
			return nil
		}
		more := len(letters) > c.Limit
		letters = letters[:min(len(letters), c.Limit)]
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		sayf(table, "ID\tPUT ASIDE\tQUEUE\tACTIONS\tREASON\n")
		for i := range letters {
			l := &letters[i]
			sayf(table, "%s\t%s\t%s\t%s\t%s\n", l.ID, l.At.UTC().Format(time.RFC3339), plain(l.Queue), actionsOf(l), short(l.Reason))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if more {
			sayf(p.stdout, "There are more; --limit shows them.\n")
		}
		return nil
	})
}

// plain is a text without what a terminal would obey.
func plain(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// short is the beginning of a reason, which dead show tells in full.
func short(reason string) string {
	const most = 100
	if runes := []rune(reason); len(runes) > most {
		reason = string(runes[:most]) + "…"
	}
	return plain(reason)
}

// actionsOf is how many actions a message holds, as far as it can be read.
func actionsOf(l *amqp.Letter) string {
	if l.Unreadable != nil {
		return "unreadable"
	}
	return strconv.Itoa(len(l.Message.Actions))
}

// deadShowCommand shows.
type deadShowCommand struct {
	deadFlags `embed:""`

	ID string `arg:"" help:"The message's id, as listed."`
}

// Run prints all that is known of the message.
func (c *deadShowCommand) Run(p *program) error {
	return c.with(p.ctx, func(dead *amqp.Dead) error {
		l, err := dead.Show(p.ctx, c.ID)
		if errors.Is(err, storage.ErrNotFound) {
			return noLetter(c.ID)
		}
		if err != nil {
			return err
		}
		show(p.stdout, &l)
		return nil
	})
}

func noLetter(id string) error {
	return fmt.Errorf("no message %s is put aside; ovation dead list shows which are", id)
}

// show prints a message, whose strings may come from anywhere.
func show(to io.Writer, l *amqp.Letter) {
	sayf(to, "id         %s\nput aside  %s\nqueue      %s\nreason     %s\nbytes      %d\n",
		l.ID, l.At.UTC().Format(time.RFC3339), plain(l.Queue), plain(l.Reason), len(l.Body))
	if l.Unreadable != nil {
		sayf(to, "unreadable %q\n%q\n", l.Unreadable.Error(), l.Body)
		return
	}
	sayf(to, "published  %s\n", l.Published.UTC().Format(time.RFC3339))
	for _, a := range l.Message.Actions {
		sayf(to, "%s  tenant %q, user %q, %s %q: %s\n", storage.Time(a.Version).Format(time.RFC3339Nano),
			a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID, done(&a))
	}
}

// done says what an action does.
func done(a *storage.Action) string {
	switch {
	case a.Kind == storage.KindRead:
		return fmt.Sprintf("read %d times", a.Times)
	case a.Kind == storage.KindCollection && a.FolderID == "":
		return "uncollect"
	case a.Kind == storage.KindCollection:
		return fmt.Sprintf("collect into folder %q", a.FolderID)
	case a.Reaction == storage.Like:
		return "like"
	case a.Reaction == storage.Dislike:
		return "dislike"
	case a.If == storage.Like:
		return "unlike"
	case a.If == storage.Dislike:
		return "undislike"
	}
	return "clear the reaction"
}

// deadReplayCommand replays.
type deadReplayCommand struct {
	deadFlags `embed:""`

	ID string `arg:""                   help:"The message's id, as listed." optional:""`
	// Without variables: one that was forgotten would do this to the next message.
	All   bool `help:"All of them."`
	Force bool `help:"Also those with reads that are so old that they may count twice."`
}

// Run queues messages once more.
func (c *deadReplayCommand) Run(p *program) error {
	if (c.ID == "") != c.All {
		return usage("name one message, or write --all")
	}
	return c.with(p.ctx, func(dead *amqp.Dead) error {
		n, err := dead.Replay(p.ctx, c.Force, func(l amqp.Letter) bool { return c.All || l.ID == c.ID })
		if err == nil && !c.All && n == (amqp.Replayed{}) {
			return noLetter(c.ID)
		}
		sayf(p.stdout, "%s replayed\n", messages(n.Queued))
		if n.Unreadable > 0 {
			err = errors.Join(err, fmt.Errorf("%s cannot be read and stay; ovation dead show tells of them", messages(n.Unreadable)))
		}
		if n.Old > 0 {
			err = errors.Join(err, fmt.Errorf("%s with reads are older than the memory of what was persisted, %d days, and stay: "+
				"were they persisted before, their reads would count twice; --force replays them", messages(n.Old), storage.InboxAge/(24*time.Hour)))
		}
		return err
	})
}

// messages is a number of them.
func messages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

// deadDropCommand drops.
type deadDropCommand struct {
	deadFlags    `embed:""`
	postgresFlag `embed:""`
	redisFlag    `embed:""`

	ID string `arg:"" help:"The message's id, as listed."`
}

// Run removes the message, and what its users still see of it.
func (c *deadDropCommand) Run(p *program) (err error) {
	mirror, err := c.openMirror(p)
	if err != nil {
		return err
	}
	if mirror != nil {
		defer func() { err = errors.Join(err, mirror.Close()) }()
	}
	return c.with(p.ctx, func(dead *amqp.Dead) error {
		var actions []storage.Action
		dropped, err := dead.Drop(p.ctx, func(l amqp.Letter) bool {
			if l.ID != c.ID {
				return false
			}
			actions = append(actions, l.Message.Actions...)
			return true
		})
		if err == nil && dropped == 0 {
			return noLetter(c.ID)
		}
		sayf(p.stdout, "%s dropped\n", messages(dropped))
		switch {
		case mirror != nil:
			err = errors.Join(err, mirror.Drop(p.ctx, actions))
		case len(actions) > 0:
			sayf(p.stdout, "Its users may see it as done for up to a week: set OVATION_POSTGRES_URL and OVATION_REDIS_URL to have it taken back at once.\n")
		}
		return err
	})
}

// openMirror opens what shows users what they did, nil where it is not said
// where that is.
func (c *deadDropCommand) openMirror(p *program) (*redis.Store, error) {
	if c.PostgresURL == "" || c.RedisURL == "" {
		return nil, nil //nolint:nilnil // it is not needed
	}
	database, err := c.openPostgres(p.ctx, quietly, p.now)
	if err != nil {
		return nil, err
	}
	mirror, err := c.openRedis(p.ctx, redis.Options{Database: database, Prefix: c.Prefix, Logger: quietly, RedisTimeout: bulkTimeout, Passive: true})
	if err != nil {
		return nil, errors.Join(err, database.Close())
	}
	return mirror, nil
}
