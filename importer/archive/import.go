package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"ovation/storage"
)

// restoreActions and restoreOthers are how many elements are restored in one transaction.
const (
	restoreActions = 10_000
	restoreOthers  = 1_000
)

// maxRefused is the maximum length of Result.Refused.
const maxRefused = 20

// Accounts is what a file of accounts needs of package accounts.
type Accounts struct {
	NameKey   func(name string) (string, error) // the key of an account's name
	CheckHash func(encoded string) error        // whether a text is the hash of a password
	Unmatched string                            // a hash that no password matches, for accounts without one
}

// ImportOptions configures an import.
type ImportOptions struct {
	Tenant   string // that of the file, which the caller names so that it is not a surprise
	Accounts Accounts
	// Progress, if set, is called after each transaction with the bytes of the file so far.
	// The file is read twice, and the first time counts as well.
	Progress func(lines, bytes int64)
}

// Result summarises an import.
type Result struct {
	User    string  // the user whose data the file holds, or empty
	Lines   []Count // by type, in the order of the file
	Total   int64
	Refused []storage.Refusal // the first elements that were not restored
	Others  int64             // how many more there were
	Elapsed time.Duration
}

// Check reads a file to its end and checks every line.
func Check(ctx context.Context, file io.Reader, o ImportOptions) (Result, error) {
	start := time.Now()
	r := newReader(file, o)
	err := r.readAll(ctx, func(*storage.Archive) error { return nil })
	return r.result(start), err
}

// Import checks a file as Check does, then reads it again and merges it into the store. The
// function open opens the file from its beginning. If Import fails, a part may be merged;
// the same import completes it. Errors: *FileError, if the file is invalid, and nothing was
// imported; those of open, of the store and of ctx.
func Import(ctx context.Context, open func() (io.ReadCloser, error), to storage.Archives, o ImportOptions) (Result, error) {
	start := time.Now()
	first, err := pass(ctx, open, o, func(*storage.Archive) error { return nil })
	if err != nil {
		return first.result(start), err
	}
	var refusals Result
	parts := make(chan *storage.Archive) // unbuffered: one is restored while the next is read
	group, within := errgroup.WithContext(ctx)
	group.Go(func() error {
		for part := range parts {
			outcome, err := to.Restore(within, part, nil)
			if err != nil {
				return err
			}
			refusals.refuse(outcome.Refused)
		}
		return nil
	})
	var second *reader
	group.Go(func() (err error) {
		defer close(parts)
		second, err = pass(within, open, o, func(part *storage.Archive) error {
			select {
			case parts <- part:
				return nil
			case <-within.Done():
				return within.Err()
			}
		})
		return err
	})
	err = group.Wait()
	if _, changed := errors.AsType[*FileError](err); err == nil && second.trailer.SHA256 != first.trailer.SHA256 || changed {
		err = errors.New("the file changed while it was imported: import it again")
	}
	result := first.result(start)
	result.Refused, result.Others = refusals.Refused, refusals.Others
	return result, err
}

// pass reads the file once.
func pass(ctx context.Context, open func() (io.ReadCloser, error), o ImportOptions, each func(*storage.Archive) error) (r *reader, err error) {
	r = newReader(nil, o)
	file, err := open()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r.reset(file)
	return r, r.readAll(ctx, each)
}

func (r *Result) refuse(all []storage.Refusal) {
	for _, one := range all {
		if len(r.Refused) == maxRefused {
			r.Others++
			continue
		}
		r.Refused = append(r.Refused, one)
	}
}

// FileError states what is wrong with a file, and on which line.
type FileError struct {
	Line   int64
	Reason string // follows "line N" in a sentence
}

func (e *FileError) Error() string { return fmt.Sprintf("line %d %s", e.Line, e.Reason) }
