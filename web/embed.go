package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the pages as they were built, or only the placeholder if they were not.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // impossible: the name is valid
	}
	return files
}

// Built reports whether files contains GraphiQL, not only the placeholder.
func Built(files fs.FS) bool {
	_, err := fs.Stat(files, pages["/"])
	return err == nil
}
