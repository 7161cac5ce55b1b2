package importer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"ovation/storage"
)

// Bounds of what a Result lists.
const (
	maxBadRows = 20
	maxSkipped = 100
)

// Options say how to import.
type Options struct {
	Mapping Mapping
	Tenant  string // storage.DefaultTenant where empty
	// Strict stops at the first bad row, with a *RowError.
	Strict bool
	// Progress, if set, is told after each group that was written, and each block that
	// was there already. It is called on the goroutine of Import.
	Progress func(Progress)

	block int // actions in a block, of tests; blockActions if 0
}

// Progress is how far an import is.
type Progress struct {
	Rows  int64 // read and, where they mean an action, written
	Bytes int64 // of the packed file, a little ahead of Rows
}

// Result is what an import did, also one that failed.
type Result struct {
	Rows     int64      // read
	Imported []Done     // written by this import, by action, those with none left out
	Already  int64      // rows that an earlier import had written
	Skipped  []Skipped  // rows with no action, the most frequent first
	Bad      int64      // rows that could not be imported
	BadRows  []RowError // the first 20 of them
	Elapsed  time.Duration
}

// Done is how many rows of one action were written.
type Done struct {
	Action string
	Rows   int64
}

// Skipped is how many rows of one event were skipped, and why.
type Skipped struct {
	Event  string // at most 64 bytes of it
	Reason string
	Rows   int64
}

func compareSkipped(a, b Skipped) int {
	return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Event, b.Event))
}

// Import reads src to its end and persists every action in it once, whatever
// was imported of the same file before. Bad rows are noted in the Result and
// left out. Where it fails, what came before the failure is persisted, and
// the same import goes on from there when it is started again. Two imports of
// one file must not run at once.
//
// Errors: a *FileError that names the place where src cannot be read any
// further until it is repaired, a *RowError if strict, those of reading and of
// the store, and that of the context.
func Import(ctx context.Context, to storage.Persister, src *Source, o Options) (Result, error) {
	start := time.Now()
	o.Tenant = cmp.Or(o.Tenant, storage.DefaultTenant)
	if err := storage.ValidateTenant(o.Tenant); err != nil {
		return Result{}, err
	}
	if err := o.Mapping.Validate(); err != nil {
		return Result{}, fmt.Errorf("mapping: %w", err)
	}
	parser, err := newParser(src, o)
	if err != nil {
		return Result{}, err
	}
	w := &writer{to: to, group: groupActions, progress: o.Progress}
	err = pipe(ctx, parser, w)

	result := Result{
		Rows: parser.read, Already: w.already, Skipped: parser.skips(),
		Bad: parser.bad, BadRows: parser.badRows, Elapsed: time.Since(start),
	}
	for a := actionRead; a < actionEnd; a++ {
		if w.done[a] > 0 {
			result.Imported = append(result.Imported, Done{a.String(), w.done[a]})
		}
	}
	return result, err
}

// pipe reads on one goroutine and writes on this one. A failure of the reader
// lets the writer finish what was read.
func pipe(ctx context.Context, p *parser, w *writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, p.stop)()
	blocks := make(chan block) // one is written and one read
	var reader errgroup.Group
	reader.Go(func() error {
		defer close(blocks)
		return p.run(ctx, blocks)
	})
	err := w.writeAll(ctx, blocks)
	if err != nil {
		cancel()
		_ = reader.Wait() // it ends because the writer failed
		return err
	}
	return reader.Wait()
}
