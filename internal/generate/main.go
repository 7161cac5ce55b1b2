package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
)

func main() {
	if err := run(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	if err := writeCalls(); err != nil {
		return err
	}
	cfg, err := config.LoadConfig("gqlgen.yml")
	if err != nil {
		return err
	}
	// gqlgen first deletes its own output. Without gqlgen's output, the old output of the
	// plugin does not compile.
	if err := os.Remove(plainFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	exec, models := cfg.Exec.Filename, cfg.Model.Filename
	resolvers := &resolverFilter{out: os.Stderr}
	log.SetOutput(resolvers)
	if err := api.Generate(cfg, api.AddPlugin(plainWriter{})); err != nil {
		return err
	}
	fmt.Printf("generate: wrote %s, %s, %s and %s; %d fields match nothing in Go and need a resolver\n", exec, models, plainFile, callsFile, resolvers.dropped)
	return nil
}

// resolverFilter is the writer that package log writes to. gqlgen logs each field that
// needs a resolver because gqlgen found neither a struct field nor a method for it.
// resolverFilter counts these lines and drops them: if a resolver is missing, package
// resolvers does not compile.
type resolverFilter struct {
	out     io.Writer
	dropped int // number of lines
}

// Write drops and counts a line about a resolver, and passes on any other line.
func (f *resolverFilter) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(" adding resolver method for ")) && bytes.HasSuffix(line, []byte(", nothing matched\n")) {
		f.dropped++
		return len(line), nil
	}
	return f.out.Write(line)
}
