// Package redistest helps tests to look into Redis.
package redistest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"
)

// Dump returns the keys and values in Redis whose keys begin with a prefix, as text.
func Dump(tb testing.TB, url, prefix string) string {
	tb.Helper()
	options, err := rueidis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	options.DisableCache = true
	client, err := rueidis.NewClient(options)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	var b strings.Builder
	for _, node := range client.Nodes() {
		for cursor := uint64(0); ; {
			page, err := node.Do(tb.Context(), node.B().Scan().Cursor(cursor).Match(prefix+":*").Count(1000).Build()).AsScanEntry()
			if err != nil {
				tb.Fatal(err)
			}
			for _, key := range page.Elements {
				values, _ := node.Do(tb.Context(), node.B().Hgetall().Key(key).Build()).AsStrMap() // the sentinel is no hash
				fmt.Fprintln(&b, key, values)
			}
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	return b.String()
}
