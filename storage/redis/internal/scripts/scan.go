package scripts

import (
	"context"
	"errors"
	"strings"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/rueidis"

	"ovation/storage"
)

const (
	scanCount = 500 // keys that the server examines in one call
	readTries = 8   // attempts of Retry, within some 15 seconds
)

// Retry calls f again while f returns storage.ErrUnavailable, for example because a
// connection was lost. Other readers of Redis use the database if Redis is unavailable;
// what reads all of Redis cannot, and it may take longer than either stays available.
// Errors: storage.ErrUnavailable after readTries attempts, other errors of f, the context's
// error.
func Retry(ctx context.Context, f func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := f()
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxTries(readTries))
	return err
}

var escapePattern = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)

// Scan lists the keys in Redis that begin with prefix, and calls each(keys) for every
// page of the list, which is not empty. A key may be listed several times.
func (r *Runner) Scan(ctx context.Context, prefix string, each func(keys []string) error) error {
	pattern := escapePattern.Replace(prefix) + "*"
	for _, node := range r.Client.Nodes() {
		for cursor := uint64(0); ; {
			var page rueidis.ScanEntry
			err := Retry(ctx, func() error {
				return r.Do(ctx, "scan", func(ctx context.Context) (err error) {
					page, err = node.Do(ctx, node.B().Scan().Cursor(cursor).Match(pattern).Count(scanCount).Build()).AsScanEntry()
					return err
				})
			})
			if err == nil && len(page.Elements) > 0 {
				err = each(page.Elements)
			}
			if err != nil {
				return err
			}
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}
