package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"syscall"

	"ovation/accounts"
	"ovation/importer"
	"ovation/importer/archive"
	"ovation/storage"
)

// importArchive imports a file of ovation export.
func (c *importCommand) importArchive(p *program, src *importer.Source, mapping importer.Mapping) (err error) {
	if c.Subjects || c.Format == "csv" || !reflect.DeepEqual(mapping, importer.DefaultMapping()) {
		return usage("the file is one of ovation export, which needs no mapping: use only --tenant, --dry-run and the flags of the database")
	}
	open := func() (io.ReadCloser, error) { return importer.Open(p.ctx, c.File, nil, "ndjson") }
	if src.Size() == 0 { // a stream can be read only once
		spooled, failed := spool(src)
		if failed != nil {
			return fmt.Errorf("import: %w; nothing was imported", failed)
		}
		defer func() { err = errors.Join(err, os.Remove(spooled)) }()
		open = func() (io.ReadCloser, error) { return os.Open(spooled) }
	}
	told, done := progress(p.stderr, 2*src.Size())
	defer done()
	o := archive.ImportOptions{
		Tenant:   c.Tenant,
		Accounts: archive.Accounts{NameKey: accounts.NameKey, CheckHash: accounts.CheckHash, Unmatched: accounts.UnmatchedHash()},
		Progress: func(lines, bytes int64) { told(importer.Progress{Rows: lines, Bytes: bytes}) },
	}
	if c.DryRun {
		return c.checkArchive(p, open, o)
	}
	return c.withStore(p, func(store storage.Store) error {
		result, err := archive.Import(p.ctx, open, store, o)
		done()
		if err != nil {
			return archiveError(err, "what was imported so far is kept, and the same command completes it")
		}
		sayLines(p.stdout, "imported", result.Lines, result.Elapsed)
		return sayRefused(p.stdout, result)
	})
}

// checkArchive shows what the file holds.
func (c *importCommand) checkArchive(p *program, open func() (io.ReadCloser, error), o archive.ImportOptions) error {
	file, err := open()
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	result, err := archive.Check(p.ctx, file, o)
	if err = errors.Join(err, file.Close()); err != nil {
		return archiveError(err, "nothing was imported")
	}
	sayLines(p.stdout, "importable", result.Lines, result.Elapsed)
	sayf(p.stdout, "dry run: nothing was imported\n")
	return nil
}

// archiveError returns the error of an import; left is what a failure leaves, except that
// of the file.
func archiveError(err error, left string) error {
	_, invalid := errors.AsType[*archive.FileError](err)
	_, damaged := errors.AsType[*importer.FileError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("the import was stopped; " + left)
	case invalid || damaged:
		return fmt.Errorf("import: %w; nothing was imported", err)
	}
	return fmt.Errorf("import: %w; %s", err, left)
}

// sayRefused prints what was not imported, if anything was not, and returns an error then.
func sayRefused(to io.Writer, r archive.Result) error {
	if len(r.Refused) == 0 {
		return nil
	}
	sayf(to, "refused       %d\n", int64(len(r.Refused))+r.Others)
	for _, one := range r.Refused {
		sayf(to, "  %v\n", one)
	}
	if r.Others > 0 {
		sayf(to, "  and %d more\n", r.Others)
	}
	return &exitError{exitBadRows, errors.New("what was refused conflicts with what is there; everything else is imported")}
}

// spool copies a stream to a temporary file, which the caller removes, and returns its name.
func spool(src io.Reader) (name string, err error) {
	file, err := os.CreateTemp("", "ovation-import-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, src)
	if err = errors.Join(err, file.Close()); err == nil {
		return file.Name(), nil
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w: the disk of %s has no room for the stream, which must be checked before it is imported: pass the file by its name, or set TMPDIR to a larger folder", err, os.TempDir())
	}
	return "", errors.Join(err, os.Remove(file.Name()))
}
