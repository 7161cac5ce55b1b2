package main

import (
	"errors"
	"fmt"
	"time"

	"ovation/storage"
)

// verifyCommand recounts everything.
type verifyCommand struct {
	storeFlags `embed:""`

	Repair bool `help:"Set each wrong count to what was counted." variable:"OVATION_REPAIR"`
}

// Help is the end of the command's help.
func (*verifyCommand) Help() string {
	return `Without --repair it only reads; a server may go on beside it. With --repair, and where something is wrong, it counts once more while nobody else can write: stop the server, or expect its writes to wait as long, and those that cannot wait to fail.

Exit codes: 0 no differences or all repaired, 1 failed or differences found, 2 wrong flags.`
}

// Run prints each difference on a line of its own, then a summary.
func (c *verifyCommand) Run(p *program) (err error) {
	if err := c.check(p.getenv); err != nil {
		return err
	}
	store, err := c.open(p.ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	start, differences := time.Now(), 0
	compared, err := store.Verify(p.ctx, c.Repair, func(d storage.Difference) error {
		differences++
		_, err := fmt.Fprintln(p.stdout, describe(d))
		return err
	})
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	repaired := ""
	if c.Repair && differences > 0 {
		repaired = ", all repaired"
	}
	sayf(p.stdout, "%d differences%s; %d counts compared in %.2f s\n", differences, repaired, compared, time.Since(start).Seconds())
	if c.PostgresURL != "" {
		sayf(p.stdout, "What Redis shows was not compared.\n")
	}
	if differences > 0 && !c.Repair {
		sayf(p.stdout, "ovation verify --repair sets them right.\n")
		return &exitError{code: exitFailed}
	}
	return nil
}

// describe says what is wrong, in one line.
func describe(d storage.Difference) string {
	of := fmt.Sprintf("tenant %s, %s %q", d.Subject.Tenant, d.Subject.Biz, d.Subject.BizID)
	if d.Subject == (storage.Subject{}) {
		of = fmt.Sprintf("tenant %s, folder %q of user %q", d.Folder.Owner.Tenant, d.Folder.FolderID, d.Folder.Owner.UserID)
	}
	if d.Count == "folder" {
		return fmt.Sprintf("%s: does not exist, and yet %d items are in it", of, d.Counted)
	}
	return fmt.Sprintf("%s: %s is stored as %d, counted %d", of, d.Count, d.Stored, d.Counted)
}
