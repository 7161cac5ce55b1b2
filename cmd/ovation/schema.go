package main

import (
	"fmt"

	"ovation/resolvers"
)

// schemaCommand prints the schema and nothing else.
type schemaCommand struct{}

// Run prints the schema.
func (*schemaCommand) Run(p *program) error {
	if _, err := fmt.Fprint(p.stdout, resolvers.SDL()); err != nil {
		return fmt.Errorf("print the schema: %w", err)
	}
	return nil
}
