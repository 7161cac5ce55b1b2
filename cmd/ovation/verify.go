package main

import (
	"errors"
	"fmt"
	"time"

	"ovation/storage"
	"ovation/storage/redis"
)

// verifyCommand recounts everything and reports wrong counts.
type verifyCommand struct {
	storeFlags `embed:""`

	Repair bool `help:"Correct wrong counts in the database, and delete wrong values in Redis." env:"OVATION_REPAIR"`
}

// Help returns the text between the command's summary and its flags.
func (*verifyCommand) Help() string {
	return `Without --repair it only reads; a server may run at the same time. With --repair, a data folder in which a count is wrong is recounted while nothing else can write to it: stop the server, or expect its writes to wait that long, and those that cannot wait to fail.

If OVATION_REDIS_URL is set, the content of Redis is then compared with the database. With --repair, values in Redis that differ are deleted; they are loaded again when they are next read. While nodes use Redis, --repair requires OVATION_REDIS_URL.

Exit codes: 0 no differences or all repaired, 1 failed or differences found, 2 wrong flags.`
}

// Run checks the stored counts in the database, and then the content of Redis. For each
// of the two, it prints every difference on a line of its own, followed by a summary.
func (c *verifyCommand) Run(p *program) (err error) {
	if err := c.check(p.getenv); err != nil {
		return err
	}
	store, err := c.open(p.ctx, false, storage.EventOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	wrong, err := c.count(p, "", "counts", "the database", func(found func(string) error) (int64, error) {
		return store.Verify(p.ctx, c.Repair, func(d storage.Difference) error { return found(describe(d)) })
	})
	if err != nil {
		return err
	}
	if copied, is := store.(*redis.Store); is {
		stale, err := c.count(p, " in Redis", "counts and states", fmt.Sprintf("Redis under the prefix %q (--prefix)", c.Prefix), func(found func(string) error) (int64, error) {
			return copied.Compare(p.ctx, c.Repair, func(s redis.Mismatch) error { return found(describeStale(s)) })
		})
		if err != nil {
			return err
		}
		wrong = wrong || stale
	} else if c.PostgresURL != "" {
		sayf(p.stdout, "Redis was not compared: set OVATION_REDIS_URL.\n")
	}
	if wrong && !c.Repair {
		sayf(p.stdout, "ovation verify --repair corrects what differs.\n")
		return &exitError{code: exitFailed}
	}
	return nil
}

// count prints each difference and a summary, and reports whether there were any
// differences. In the summary, suffix follows the word "differences".
func (c *verifyCommand) count(p *program, suffix, things, place string, compare func(found func(string) error) (int64, error)) (bool, error) {
	start, n := time.Now(), 0
	compared, err := compare(func(line string) error {
		n++
		_, err := fmt.Fprintln(p.stdout, line)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("verify: %w", err)
	}
	if compared == 0 && n == 0 {
		sayf(p.stdout, "Nothing was compared: there are no %s in %s.\n", things, place)
		return false, nil
	}
	differences, repaired := "differences", ", all repaired"
	if n == 1 {
		differences, repaired = "difference", ", repaired"
	}
	if !c.Repair || n == 0 {
		repaired = ""
	}
	sayf(p.stdout, "%d %s%s%s; %d %s compared in %.2f s\n", n, differences, suffix, repaired, compared, things, time.Since(start).Seconds())
	return n > 0, nil
}

// describeStale describes a difference in Redis in one line. Keys and fields are quoted,
// because they consist of ids, which may contain any character.
func describeStale(s redis.Mismatch) string {
	of := fmt.Sprintf("Redis, key %q", s.Key)
	if s.Field != "" {
		of += fmt.Sprintf(", field %q", s.Field)
	}
	return fmt.Sprintf("%s: holds %q, the database %q", of, s.Redis, s.Database)
}

// describe describes a difference in one line.
func describe(d storage.Difference) string {
	of := fmt.Sprintf("tenant %s, %s %q", d.Subject.Tenant, d.Subject.Biz, d.Subject.BizID)
	switch {
	case d.User != storage.User{}:
		of = fmt.Sprintf("tenant %s, totals of user %q", d.User.Tenant, d.User.UserID)
	case d.Conversation != storage.ConversationKey{}:
		of = fmt.Sprintf("tenant %s, messages of %q to %q", d.Conversation.Owner.Tenant, d.Conversation.With.UserID, d.Conversation.Owner.UserID)
	case d.Subject == storage.Subject{}:
		of = fmt.Sprintf("tenant %s, folder %q of user %q", d.Folder.Owner.Tenant, d.Folder.FolderID, d.Folder.Owner.UserID)
	}
	if d.Count == "folder" {
		return fmt.Sprintf("%s: does not exist, and yet %d items are in it", of, d.Counted)
	}
	return fmt.Sprintf("%s: %s is stored as %d, counted %d", of, d.Count, d.Stored, d.Counted)
}
