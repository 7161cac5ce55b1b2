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

// deadCommand lists, shows, replays and drops dead letters: messages that could not be
// persisted.
type deadCommand struct {
	List   deadListCommand   `cmd:"" group:"commands" help:"List dead letters, oldest first, with their reasons."`
	Show   deadShowCommand   `cmd:"" example:"ovation dead show ID, with an ID that ovation dead list prints" group:"commands" help:"Show a dead letter and its actions."`
	Replay deadReplayCommand `cmd:"" group:"commands" help:"Queue a dead letter again, or all of them."`
	Drop   deadDropCommand   `cmd:"" example:"ovation dead drop ID, with an ID that ovation dead list prints" group:"commands" help:"Delete a dead letter; its actions are lost."`
}

// deadFlags are the flags that all subcommands of `ovation dead` share.
type deadFlags struct {
	queueFlags `embed:""`
	prefixFlag `embed:""`

	Covers bool `help:"Use the dead letters of jobs for video covers instead of those of actions." env:"OVATION_DEAD_COVERS"`
}

// with opens the dead-letter queue, passes it to the function use, and closes it.
func (f deadFlags) with(ctx context.Context, use func(*amqp.DeadLetters) error) (err error) {
	if f.RabbitMQURL == "" {
		return usage("ovation dead needs the queue: set OVATION_RABBITMQ_URL, for example %s. ovation dev has no dead letters.", exampleOf["OVATION_RABBITMQ_URL"])
	}
	options := f.options(f.Prefix, discardLog)
	if f.Covers {
		options = coverOptions(options)
	}
	dead, err := amqp.OpenDeadLetters(ctx, options)
	if err != nil {
		return withFlag(queueFlagNames, err)
	}
	defer func() { err = errors.Join(err, dead.Close()) }()
	return use(dead)
}

// deadListCommand lists dead letters.
type deadListCommand struct {
	deadFlags `embed:""`

	Limit int `default:"100" help:"Maximum number of dead letters to list." env:"OVATION_DEAD_LIMIT"`
}

// Run prints one line per dead letter.
func (c *deadListCommand) Run(p *program) error {
	if c.Limit < 1 {
		return usage("--limit is %d; it must be at least 1", c.Limit)
	}
	return c.with(p.ctx, func(dead *amqp.DeadLetters) error {
		letters, err := dead.List(p.ctx, c.Limit+1)
		if err != nil {
			return err
		}
		if len(letters) == 0 {
			sayf(p.stdout, "There are no dead letters: the workers could persist everything.\n")
			return nil
		}
		more := len(letters) > c.Limit
		letters = letters[:min(len(letters), c.Limit)]
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		sayf(table, "ID\tSINCE\tQUEUE\tACTIONS\tREASON\n")
		for i := range letters {
			l := &letters[i]
			sayf(table, "%s\t%s\t%s\t%s\t%s\n", l.ID, l.At.UTC().Format(time.RFC3339), printable(l.Queue), actionsOf(l), shortened(l.Reason))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if more {
			sayf(p.stdout, "There are more; a higher --limit lists them.\n")
		}
		return nil
	})
}

// printable escapes control characters, which a terminal would interpret.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// shortened returns the first 100 characters of a reason, with control characters
// escaped. The command "ovation dead show" prints the whole reason.
func shortened(reason string) string {
	const most = 100
	if runes := []rune(reason); len(runes) > most {
		reason = string(runes[:most]) + "…"
	}
	return printable(reason)
}

// actionsOf returns the number of actions in a message as text, or "unreadable" if the
// message cannot be decoded.
func actionsOf(l *amqp.DeadLetter) string {
	if l.Unreadable != nil {
		return "unreadable"
	}
	return strconv.Itoa(len(l.Message.Actions))
}

// deadShowCommand shows one dead letter.
type deadShowCommand struct {
	deadFlags `embed:""`

	ID string `arg:"" help:"The id of the dead letter, as listed."`
}

// Run prints the dead letter.
func (c *deadShowCommand) Run(p *program) error {
	return c.with(p.ctx, func(dead *amqp.DeadLetters) error {
		l, err := dead.Show(p.ctx, c.ID)
		if errors.Is(err, storage.ErrNotFound) {
			return errNoDeadLetter(c.ID)
		}
		if err != nil {
			return err
		}
		show(p.stdout, &l)
		return nil
	})
}

func errNoDeadLetter(id string) error {
	return fmt.Errorf("there is no dead letter %s; ovation dead list prints their ids", id)
}

// show prints a dead letter. It escapes the reason, the body and the ids in the actions,
// because they are not trusted.
func show(to io.Writer, l *amqp.DeadLetter) {
	sayf(to, "id         %s\nsince      %s\nqueue      %s\nreason     %s\nbytes      %d\n",
		l.ID, l.At.UTC().Format(time.RFC3339), printable(l.Queue), printable(l.Reason), len(l.Body))
	if l.Unreadable != nil {
		sayf(to, "unreadable %q\n%q\n", l.Unreadable.Error(), l.Body)
		return
	}
	sayf(to, "published  %s\n", l.Published.UTC().Format(time.RFC3339))
	if job := l.Message.Cover; job != (storage.VideoKey{}) {
		sayf(to, "tenant %q: cover of video %d\n", job.Tenant, job.Number)
	}
	for _, a := range l.Message.Actions {
		sayf(to, "%s  tenant %q, user %q, %s %q: %s\n", storage.Time(a.Version).Format(time.RFC3339Nano),
			a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID, describeAction(&a))
	}
}

// describeAction returns a description of an action, such as "like" or "read 3 times".
func describeAction(a *storage.Action) string {
	switch {
	case a.Kind == storage.KindRead:
		return fmt.Sprintf("read %d times", a.Times)
	case a.Kind == storage.KindCollection && a.FolderID == "":
		return "uncollect"
	case a.Kind == storage.KindCollection:
		return fmt.Sprintf("collect into folder %q", a.FolderID)
	case a.Kind == storage.KindFollow && a.Following:
		return "follow"
	case a.Kind == storage.KindFollow:
		return "unfollow"
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

// deadReplayCommand queues dead letters again.
type deadReplayCommand struct {
	deadFlags `embed:""`

	ID string `arg:""                   help:"The id of the dead letter, as listed." optional:""`
	// All and Force have no environment variables: a variable that stays set would also
	// apply to later replays.
	All   bool `help:"Replay all of them."`
	Force bool `help:"Also replay dead letters for which the ids of persisted messages are no longer kept; their reads may count twice."`
}

// Run queues one dead letter again, or all dead letters.
func (c *deadReplayCommand) Run(p *program) error {
	if (c.ID == "") != c.All {
		return usage("name one dead letter, or write --all; ovation dead list prints their ids")
	}
	return c.with(p.ctx, func(dead *amqp.DeadLetters) error {
		n, err := dead.Replay(p.ctx, c.Force, func(l amqp.DeadLetter) bool { return c.All || l.ID == c.ID })
		if err == nil && !c.All && n == (amqp.Replayed{}) {
			return errNoDeadLetter(c.ID)
		}
		sayf(p.stdout, "%s replayed\n", countMessages(n.Queued))
		if n.Unreadable > 0 {
			err = errors.Join(err, fmt.Errorf("%s cannot be decoded and remain dead letters; ovation dead show prints them", countMessages(n.Unreadable)))
		}
		if n.Expired > 0 {
			err = errors.Join(err, fmt.Errorf("%s with reads remain dead letters: they are older than %d days, for which the ids of persisted messages are kept; "+
				"if they were persisted before, their reads would count twice; --force replays them", countMessages(n.Expired), storage.InboxAge/(24*time.Hour)))
		}
		return err
	})
}

// countMessages returns n followed by "message" or "messages".
func countMessages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

// deadDropCommand deletes a dead letter.
type deadDropCommand struct {
	deadFlags    `embed:""`
	postgresFlag `embed:""`
	redisFlag    `embed:""`

	ID string `arg:"" help:"The id of the dead letter, as listed."`
}

// Run deletes the dead letter. If Postgres and Redis are configured, Run also reverts the
// actions of the dead letter in Redis. Without this step, Redis may show these actions
// for up to a week.
func (c *deadDropCommand) Run(p *program) (err error) {
	mirror, err := c.openMirror(p)
	if err != nil {
		return err
	}
	if mirror != nil {
		defer func() { err = errors.Join(err, mirror.Close()) }()
	}
	return c.with(p.ctx, func(dead *amqp.DeadLetters) error {
		var actions []storage.Action
		dropped, err := dead.Drop(p.ctx, func(l amqp.DeadLetter) bool {
			if l.ID != c.ID {
				return false
			}
			actions = append(actions, l.Message.Actions...)
			return true
		})
		if err == nil && dropped == 0 {
			return errNoDeadLetter(c.ID)
		}
		sayf(p.stdout, "%s dropped\n", countMessages(dropped))
		switch {
		case mirror != nil:
			err = errors.Join(err, mirror.Revert(p.ctx, actions))
		case len(actions) > 0:
			sayf(p.stdout, "Its users may see its actions as done for up to a week; with OVATION_POSTGRES_URL and OVATION_REDIS_URL set they are reverted at once.\n")
		}
		return err
	})
}

// openMirror opens Postgres with Redis in front of it. It returns nil if Postgres or
// Redis is not configured.
func (c *deadDropCommand) openMirror(p *program) (*redis.Store, error) {
	if c.PostgresURL == "" || c.RedisURL == "" {
		return nil, nil //nolint:nilnil // it is not needed
	}
	database, err := c.openPostgres(p.ctx, discardLog, p.now, storage.EventOptions{})
	if err != nil {
		return nil, err
	}
	mirror, err := c.openRedis(p.ctx, redis.Options{Database: database, Prefix: c.Prefix, Logger: discardLog, RedisTimeout: bulkTimeout, Passive: true})
	if err != nil {
		return nil, errors.Join(err, database.Close())
	}
	return mirror, nil
}
