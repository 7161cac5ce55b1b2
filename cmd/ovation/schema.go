package main

import (
	"fmt"

	"ovation/resolvers"
)

// schemaCommand prints the schema and nothing else.
type schemaCommand struct {
	Federation bool `help:"Print the schema of a subgraph of Apollo Federation, for composition." variable:"OVATION_FEDERATION"`
}

// Run prints the schema.
func (c *schemaCommand) Run(p *program) error {
	text := resolvers.SDL()
	if c.Federation {
		text = resolvers.SubgraphSDL()
	}
	if _, err := fmt.Fprint(p.stdout, text); err != nil {
		return fmt.Errorf("print the schema: %w", err)
	}
	return nil
}
