package importer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ovation/importer"
	"ovation/storage/sqlite"
)

// A Mapping states what the columns and events of a file mean. The same rows are
// imported once, however often the import is repeated; a longer file adds its new rows.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "ovation")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(folder, "ovation.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	mapping := importer.DefaultMapping()
	mapping.Biz, mapping.BizColumn, mapping.TimeUnit = "video", "", "s"
	mapping.Events = map[string]string{"view": "read", "thumbs-up": "like"}
	rows := "user,subject,event,time\n" +
		"alice,42,view,1500000000\n" +
		"alice,42,thumbs-up,1500000005\n"
	for _, file := range []string{rows, rows, rows + "bob,42,view,1500000060\n"} {
		source, err := importer.Open(ctx, "-", strings.NewReader(file), "csv")
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := importer.Import(ctx, store, source, importer.Options{Mapping: mapping})
		fmt.Printf("%d rows: %d imported before, new: %v, error: %v\n", result.Rows, result.Already, result.Imported, err)
		if err := source.Close(); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// 2 rows: 0 imported before, new: [{read 1} {like 1}], error: <nil>
	// 2 rows: 2 imported before, new: [], error: <nil>
	// 3 rows: 2 imported before, new: [{read 1}], error: <nil>
}
