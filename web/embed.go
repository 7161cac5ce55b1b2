package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the pages as they were built, or the placeholder alone where
// they were not.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is a constant that is valid
	}
	return files
}

// Built reports whether files holds GraphiQL, and not the placeholder alone.
func Built(files fs.FS) bool {
	_, err := fs.Stat(files, pages["/"])
	return err == nil
}
