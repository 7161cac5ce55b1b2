package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// version is the release that is being worked on, the first in CHANGELOG.md. For commits
// after a tag, the linker flag -X main.version replaces it.
var version = "0.1.0-dev"

// versionCommand prints the version and the commit that this program was built from.
type versionCommand struct{}

// Run prints the version, the commit and the Go release.
func (versionCommand) Run(p *program) error { return printVersion(p.stdout) }

// versionFlag prints the same as versionCommand, regardless of other arguments.
type versionFlag bool

// BeforeReset is called by the parser if the flag is given.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	if err := printVersion(app.Stdout); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}

func printVersion(to io.Writer) error {
	number, commit := built()
	_, err := fmt.Fprintf(to, "ovation %s\ncommit  %s\ngo      %s %s/%s\n", number, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// built returns the version and the commit. If the commit is not known, it is "unknown".
func built() (number, commit string) {
	number, commit = version, "unknown"
	info, known := debug.ReadBuildInfo()
	if !known {
		return number, commit
	}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " with changes"
		}
	}
	return number, commit + modified
}
