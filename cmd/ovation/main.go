// Command ovation is the interaction backend of a content app in one binary:
// it serves the API, imports what users did elsewhere, checks what is stored
// and makes tokens for development.
//
// This package is the only one that knows which adapters there are.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// The codes the program ends with; 0 where all went well.
const (
	exitFailed  = 1 // or verify found differences
	exitUsage   = 2 // wrong flags or variables
	exitBadRows = 3 // imported, except for bad rows
)

// exitError ends the program with a code other than exitFailed. With no err
// everything has been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// sayf prints. Whoever has closed the other end does not want to hear more.
func sayf(to io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(to, format, args...) }

// program is what a command has of the world.
type program struct {
	ctx    context.Context // that of the whole program
	getenv func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	now    func() time.Time
}

// commandLine is all there is to say on the command line.
type commandLine struct {
	Dev        devCommand        `cmd:"" help:"Serve the API from this one process, with a database file and no other service."`
	Serve      serveCommand      `cmd:"" help:"Serve the API from one of several nodes, over Postgres, Redis and RabbitMQ."`
	Work       workCommand       `cmd:"" help:"Persist what the API nodes have queued."`
	Stack      stackCommand      `cmd:"" help:"Run two API nodes and two workers behind one address on this machine, for tries."`
	Migrate    migrateCommand    `cmd:"" help:"Bring the tables in Postgres up to this release."`
	Partitions partitionsCommand `cmd:"" help:"Change the number of partitions of the queue."`
	Dead       deadCommand       `cmd:"" help:"Look after messages that could not be persisted."`
	Import     importCommand     `cmd:"" help:"Import what users did elsewhere from a CSV or NDJSON file."`
	Verify     verifyCommand     `cmd:"" help:"Recount everything and print each count that is wrong."`
	Health     healthCommand     `cmd:"" help:"Ask a node whether it is ready; the exit code tells."`
	Token      tokenCommand      `cmd:"" help:"Print a token for a user, for development."`
	Version    versionCommand    `cmd:"" help:"Print the version."`

	ShowVersion versionFlag `help:"Print the version." name:"version"`
}

func main() {
	gatherSleeps(os.Args)
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP) // the terminal was closed
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// Whoever signals twice does not want to wait: the second one kills.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// run is the program. It returns its exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	return (&program{ctx, getenv, stdin, stdout, stderr, time.Now}).run(args)
}

// run runs the command that the arguments name and returns the exit code.
func (p *program) run(args []string) int {
	var line commandLine
	helped := false
	parser, err := kong.New(&line,
		kong.Name("ovation"),
		kong.Description("Who read, liked, disliked and collected what: one GraphQL API for any kind of content."),
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.ValueFormatter(helpWithVariable),
		mappers(),
		kong.Resolvers(variables(p.getenv)),
	)
	if err != nil {
		sayf(p.stderr, "ovation: %v\n", err)
		return exitFailed
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	command, err := parser.Parse(args)
	if helped {
		return 0
	}
	if err != nil {
		sayf(p.stderr, "ovation: %s\nSee ovation --help, and --help behind a command for its flags.\n", missingValue(err.Error()))
		return exitUsage
	}
	err = command.Run(p)
	if err == nil {
		return 0
	}
	exit, is := errors.AsType[*exitError](err)
	if !is {
		exit = &exitError{exitFailed, err}
	}
	if exit.err != nil {
		sayf(p.stderr, "ovation: %v\n", err)
	}
	return exit.code
}

var (
	nothing = regexp.MustCompile(`expected \w+ value but got "EOL" \(<EOL>\)`)
	another = regexp.MustCompile(`expected \w+ value but got ("[^"]*") \([^)]*\)`)
)

// missingValue has the parser's message about a flag without its value in words
// for people.
func missingValue(message string) string {
	message = nothing.ReplaceAllLiteralString(message, "a value is missing")
	return another.ReplaceAllString(message, "a value is missing before $1")
}
