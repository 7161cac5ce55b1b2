package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"time"

	"ovation/storage"
)

// ExportOptions configures an export.
type ExportOptions struct {
	Query storage.ArchiveQuery
	// Passwords includes the hashes of passwords.
	Passwords bool
	// NameKey returns the key of an account's name.
	NameKey func(name string) (string, error)
	// Progress, if set, is called after each Archive with the number of lines so far.
	Progress func(lines int64)
}

// exporter writes a file.
type exporter struct {
	ExportOptions

	to    *bufio.Writer
	sum   hash.Hash
	lines map[string]int64
	total int64
	batch []line
}

// Export writes everything that the query selects to a file, and returns the number of lines
// of each type, in the order of the file. If it fails, what it has written is not a complete
// file. Errors: those of the store, of ctx and of to.
func Export(ctx context.Context, from storage.Archives, to io.Writer, o ExportOptions) ([]Count, error) {
	e := &exporter{ExportOptions: o, sum: sha256.New(), lines: map[string]int64{}}
	e.to = bufio.NewWriterSize(to, 64<<10)
	if err := e.write(header{formatName, formatVersion, o.Query.Tenant, o.Query.UserID, micros(storage.Micros(time.Now()))}); err != nil {
		return nil, err
	}
	if err := from.Export(ctx, o.Query, e.part); err != nil {
		return nil, err
	}
	if err := e.write(trailer{typeEnd, e.lines, hex.EncodeToString(e.sum.Sum(nil))}); err != nil {
		return nil, err
	}
	if err := e.to.Flush(); err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	return countsOf(e.lines), nil
}

func (e *exporter) part(part *storage.Archive) error {
	e.batch = e.appendLines(e.batch[:0], part)
	for i := range e.batch {
		if err := e.write(&e.batch[i]); err != nil {
			return err
		}
		e.lines[e.batch[i].Type]++
	}
	e.total += int64(len(e.batch))
	if e.Progress != nil {
		e.Progress(e.total)
	}
	return nil
}

func (e *exporter) write(v any) error {
	text, err := marshal(v)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, _ = e.sum.Write(text) // never fails
	if _, err = e.to.Write(text); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
