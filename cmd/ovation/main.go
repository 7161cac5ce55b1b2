package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// The exit codes other than 0, which means success.
const (
	exitFailed  = 1 // or verify found differences
	exitUsage   = 2 // wrong flags or variables
	exitBadRows = 3 // imported, except for bad rows
)

// exitError is an error that ends the program with an exit code. If err is nil, the
// failure has been reported already.
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

// sayf prints to a writer and ignores errors: nobody reads the output of a closed pipe.
func sayf(to io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(to, format, args...) }

// program is the environment of a command.
type program struct {
	ctx    context.Context // ends when the program is told to stop
	getenv func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	now    func() time.Time

	// hangups receives SIGHUP; see receiveHangups. It is nil if the program runs within a
	// test.
	hangups     chan os.Signal
	terminate   context.CancelFunc // ends ctx
	terminals   []*os.File         // standard streams, any of which may be a terminal
	reloadables []reloadable
}

// commandLine lists all commands, in the order of the help, each with its group.
type commandLine struct {
	Dev    devCommand    `cmd:"" group:"serve" help:"Serve the API from a single process, with a database file and no other service."`
	Serve  serveCommand  `cmd:"" group:"serve" help:"Serve the API as one of several nodes, with Postgres, Redis and RabbitMQ."`
	Work   workCommand   `cmd:"" group:"serve" help:"Persist what the API nodes have queued."`
	Stack  stackCommand  `cmd:"" group:"serve" help:"Run two API nodes and two workers behind one address on this machine, to try it out."`
	Health healthCommand `cmd:"" group:"serve" help:"Check whether a node is ready; exits with 0 if it is."`

	Import importCommand `cmd:"" example:"ovation import --biz video --time-unit s events.csv" group:"data" help:"Import user actions from a CSV or NDJSON file."`
	Export exportCommand `cmd:"" example:"ovation export --out site.ndjson" group:"data" help:"Export everything that a tenant or a user has, for ovation import."`
	Erase  eraseCommand  `cmd:"" example:"ovation erase --user 42" group:"data" help:"Erase a user with everything that is stored of and about the user."`
	Verify verifyCommand `cmd:"" group:"data" help:"Recount everything and print each wrong count."`
	Events eventsCommand `cmd:"" group:"data" help:"Print the log of events: every change, as a CloudEvent a line."`

	Webhooks webhooksCommand `cmd:"" group:"data" help:"List, replay or drop events that webhooks have refused."`

	Migrate    migrateCommand    `cmd:"" group:"services" help:"Migrate the tables in Postgres to this release."`
	Partitions partitionsCommand `cmd:"" example:"ovation partitions 8" group:"services" help:"Change the number of partitions of the queue."`
	Dead       deadCommand       `cmd:"" group:"services" help:"List, show, replay or drop dead letters: messages that could not be persisted."`

	Token      tokenCommand      `cmd:"" example:"ovation token --user alice" group:"develop" help:"Print a token for a user, for development."`
	Schema     schemaCommand     `cmd:"" group:"develop" help:"Print the GraphQL schema or the OpenAPI document, for code generators."`
	Config     configCommand     `cmd:"" group:"develop" help:"Check a configuration file of --config, or print its JSON Schema."`
	Completion completionCommand `cmd:"" example:"ovation completion bash" group:"develop" help:"Print a script that completes commands and flags in bash, zsh or fish."`
	Version    versionCommand    `cmd:"" group:"develop" help:"Print the version."`
	Flags      flagsCommand      `cmd:"" group:"develop" help:"Print all flags and their variables."`

	ShowVersion versionFlag `help:"Print the version." name:"version"`
}

// commandGroups returns the groups of commands in the help.
func commandGroups() kong.Option {
	return kong.ExplicitGroups([]kong.Group{
		{Key: "serve", Title: "Run a server:"},
		{Key: "data", Title: "Move and check data:"},
		{Key: "services", Title: "Look after Postgres and RabbitMQ:"},
		{Key: "develop", Title: "Develop and configure:"},
		{Key: "commands", Title: "Commands:"}, // of a command
	})
}

func main() {
	setTimerSlack(os.Args)
	protectMemory()
	delayCollections(os.Args)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends ctx. stop then restores the default behaviour, so that a
	// second signal kills the process.
	context.AfterFunc(ctx, stop)
	p := &program{
		ctx: ctx, getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, now: time.Now,
		hangups: make(chan os.Signal, 1), terminate: stop, terminals: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	}
	os.Exit(p.run(os.Args[1:]))
}

// run runs the program and returns its exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	return (&program{ctx: ctx, getenv: getenv, stdin: stdin, stdout: stdout, stderr: stderr, now: time.Now}).run(args)
}

// run runs the command that args selects, and returns the exit code.
func (p *program) run(args []string) int {
	var line commandLine
	helped := false
	parser, err := kong.New(&line,
		kong.Name("ovation"),
		kong.Description("Who read, liked, disliked, collected and followed what: one GraphQL API for any kind of content."),
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		commandGroups(),
		kong.ValueFormatter(helpWithVariable),
		mappers(),
		kong.Resolvers(variables(p.getenv)),
	)
	if err == nil {
		err = adaptValues(parser.Model)
	}
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
		message, command := explain(err, parser.Model)
		sayf(p.stderr, "ovation: %s\nSee %s --help.\n", message, command)
		return exitUsage
	}
	defer p.receiveHangups(command.Selected().Target.Addr().Interface())()
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
