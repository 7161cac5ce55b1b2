package main

import (
	"errors"
	"fmt"
	"io/fs"
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
	cfg, err := config.LoadConfig("gqlgen.yml")
	if err != nil {
		return err
	}
	// gqlgen deletes its output first; without it, the plugin's old output does not compile.
	if err := os.Remove(plainFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return api.Generate(cfg, api.AddPlugin(plainWriter{}))
}
