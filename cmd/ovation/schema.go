package main

import (
	"fmt"

	"ovation/api/openapi"
	"ovation/resolvers"
)

// schemaCommand prints the GraphQL schema or the OpenAPI document, and nothing else.
type schemaCommand struct {
	Federation bool `help:"Print the schema of a subgraph of Apollo Federation, for composition." env:"OVATION_FEDERATION"`
	OpenAPI    bool `help:"Print the OpenAPI document of /douyin/, uploads and files, as JSON." name:"openapi" env:"OVATION_SCHEMA_OPENAPI"`
}

// Run prints the schema or the document.
func (c *schemaCommand) Run(p *program) error {
	text := resolvers.SDL()
	switch {
	case c.OpenAPI:
		number, _ := built()
		document, err := openapi.Document(openapi.Options{Version: number, Douyin: true, Media: true})
		if err != nil {
			return err
		}
		text = string(document)
	case c.Federation:
		text = resolvers.SubgraphSDL()
	}
	if _, err := fmt.Fprint(p.stdout, text); err != nil {
		return fmt.Errorf("print the schema: %w", err)
	}
	return nil
}
