package importer

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// Limits on the lengths of the lists in a Result.
const (
	maxBadRows = 20
	maxSkipped = 100
)

// Options configures an import.
type Options struct {
	Mapping Mapping
	Tenant  string // storage.DefaultTenant if empty
	// FolderNames holds the names of folders by the value of the column Mapping.Folder. A
	// value without a name is the name.
	FolderNames map[string]string
	// Strict stops the import at the first bad row, with a *RowError.
	Strict bool
	// Progress, if set, is called on the goroutine of Import after each group that it
	// writes, and after each block that an earlier import had written.
	Progress func(Progress)

	block int // actions in a block, set by tests; if 0, blockActions, or blockComments for comments
}

// Progress is the progress of an import.
type Progress struct {
	Rows  int64 // rows that were read and, if they contain an action, written
	Bytes int64 // bytes of the packed file that were read; a little ahead of Rows
}

// Result summarises an import, including a failed one.
type Result struct {
	Rows       int64        // rows that were read
	Imported   []Done       // rows written by this import, by action; actions without rows are left out
	Textless   int64        // imported comments whose text is Mapping.Placeholder
	Already    int64        // rows written by an earlier import
	Unfiled    int64        // items in default folders because their users have storage.MaxFolders folders
	Skipped    []Skipped    // rows without an action, the most frequent first
	Anonymous  int64        // rows whose user is NULL or the like, which counts as anonymous; bad rows included
	Authorless int64        // declarations whose author is NULL or the like, which counts as none; bad rows included
	Bad        int64        // rows that could not be imported
	BadRows    []RowError   // the first 20 bad rows
	Remedies   []Suggestion // for bad rows and events without an action, the most useful first
	Elapsed    time.Duration

	// Of a table of counts (ImportCounts):
	Compared    []Compared   // one for each count of the table
	Differences []Difference // the first 20 counts that are not the store's, without reads
}

// Done is the number of rows written for one action.
type Done struct {
	Action string
	Rows   int64
}

// Skipped states how many rows of one event were skipped, and why.
type Skipped struct {
	Event  string // its first 64 bytes at most
	Reason string
	Rows   int64
}

func compareSkipped(a, b Skipped) int {
	return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Event, b.Event))
}

// Import reads src to its end and persists every action in it once, however much of the
// same file was imported before. Bad rows are skipped; the Result counts them and lists
// the first ones. If Import fails, everything before the failure is persisted, and a
// repeated import resumes at that point. Two imports of one file must not run
// concurrently.
//
// Errors: an error that describes an invalid tenant or mapping; a *MappingError if the
// mapping does not fit the header; a *FileError that states where src is defective; a
// *RowError if Options.Strict is set; and errors from src, the store and ctx.
func Import(ctx context.Context, to Store, src *Source, o Options) (Result, error) {
	start := time.Now()
	defer context.AfterFunc(ctx, src.stop)() // also while the first rows are read
	parser, err := prepare(src, &o)
	if err != nil {
		return Result{}, err
	}
	w := &writer{to: to, group: groupActions, progress: o.Progress}
	err = pipe(ctx, parser, w)

	result := parser.result(start, &w.done)
	result.Textless, result.Already, result.Unfiled = w.textless, w.already, w.unfiled
	return result, err
}

// pipe reads on a separate goroutine and writes on the caller's. If reading fails,
// the writer still writes what was read.
func pipe(ctx context.Context, p *parser, w *writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, p.stop)()
	blocks := make(chan block) // unbuffered: one block is written while the next one is read
	var reader errgroup.Group
	reader.Go(func() error {
		defer close(blocks)
		return p.run(ctx, blocks)
	})
	err := w.writeAll(ctx, blocks)
	if err != nil {
		cancel()
		_ = reader.Wait() // the reader ends, because the context is cancelled
		return err
	}
	return reader.Wait()
}
