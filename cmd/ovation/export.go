package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ovation/accounts"
	"ovation/importer/archive"
	"ovation/storage"
)

// exportCommand writes everything that a tenant or a user has to a file.
type exportCommand struct {
	storeFlags `embed:""`

	Tenant    string `default:"default" help:"Tenant to export." type:"tenant" env:"OVATION_EXPORT_TENANT"`
	User      string `help:"Export only what belongs to this user." placeholder:"USER" type:"user" env:"OVATION_EXPORT_USER"`
	Out       string `help:"File to write; if empty, standard output. It appears under this name once it is complete." placeholder:"FILE" env:"OVATION_EXPORT_OUT"`
	Passwords bool   `help:"Include the hashes of passwords, without which no account can log in after an import." env:"OVATION_EXPORT_PASSWORDS"`
}

// Help returns the text between the command's summary and its flags.
func (*exportCommand) Help() string {
	return `The file is NDJSON and holds accounts, folders, comments, videos, authors, likes, dislikes, collections, follows, reads and messages, with their ids and times. ovation import merges it into any database. Counts and totals follow from these, and the files and covers of videos are copied separately.

A server may run at the same time: the file holds what the database held at one moment. What is still queued is not in it.

  ovation export | gzip > site.ndjson.gz
  ovation export --user alice --out alice.ndjson

The file holds private messages; with --out, only its owner may read it. With --passwords, it also holds what is needed to guess passwords: keep it as safe as the database, and delete it after the move.

Exit codes: 0 exported, 1 failed, 2 wrong flags.`
}

// Run writes the file, and a summary to the standard error.
func (c *exportCommand) Run(p *program) (err error) {
	if err := c.check(p.getenv); err != nil {
		return err
	}
	if c.Passwords && c.User != "" {
		return usage("--user or OVATION_EXPORT_USER, and --passwords or OVATION_EXPORT_PASSWORDS, exclude each other: the data of one user is exported without the hash of the password")
	}
	store, err := c.open(p.ctx, false, storage.EventOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	start, written := time.Now(), []archive.Count(nil)
	err = writeOut(c.Out, p.stdout, func(to io.Writer) (err error) {
		written, err = archive.Export(p.ctx, store, to, archive.ExportOptions{
			Query: storage.ArchiveQuery{Tenant: c.Tenant, UserID: c.User}, Passwords: c.Passwords, NameKey: accounts.NameKey, Progress: exportProgress(p.stderr),
		})
		return err
	})
	switch {
	case errors.Is(err, syscall.EPIPE): // the reader has seen enough
		return &exitError{code: exitFailed}
	case errors.Is(err, context.Canceled):
		return errors.New("the export was stopped; what it wrote is not complete")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("export: %w: the disk is full; %s", err, c.leftovers())
	case err != nil:
		return fmt.Errorf("export: %w; %s", err, c.leftovers())
	}
	sayLines(p.stderr, "exported", written, time.Since(start))
	return nil
}

// leftovers states what a failed export leaves.
func (c *exportCommand) leftovers() string {
	if c.Out == "" {
		return "what was written is not complete, and cannot be imported"
	}
	return "nothing was written to " + c.Out
}

// exportProgress returns a function that logs the progress of an export every 10 s.
func exportProgress(to io.Writer) func(lines int64) {
	const every = 10 * time.Second
	log, last := newLogger(to, slog.LevelInfo), time.Now()
	return func(lines int64) {
		if time.Since(last) >= every {
			last = time.Now()
			log.Info("exporting", "lines", lines)
		}
	}
}

// sayLines prints the numbers of lines of a file.
func sayLines(to io.Writer, done string, counts []archive.Count, took time.Duration) {
	total, parts := int64(0), make([]string, len(counts))
	for i, c := range counts {
		total += c.Lines
		parts[i] = fmt.Sprintf("%d × %s", c.Lines, c.Type)
	}
	sayf(to, "%s %d lines in %.2f s (%.0f/s)", done, total, took.Seconds(), float64(total)/max(took.Seconds(), 1e-6))
	if total > 0 {
		sayf(to, ": %s", strings.Join(parts, ", "))
	}
	sayf(to, "\n")
}

// writeOut calls the function write with standard output or, if name is not empty, with a
// file. A file has a temporary name in the same folder until it is complete and on disk. If
// anything fails, the file is removed, and one that existed under the name stays as it is.
// Something other than a file, such as a named pipe, is written to directly.
func writeOut(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "" {
		return write(stdout)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return fmt.Errorf("%s is a folder; name a file in it", name)
		}
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncFolder(filepath.Dir(name))
}

// syncFolder waits until the names of a folder's files are on disk.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
