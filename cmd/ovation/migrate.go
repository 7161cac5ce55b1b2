package main

import "ovation/storage/postgres"

// migrateCommand migrates the tables of a database to this release.
type migrateCommand struct {
	postgresFlag `embed:""`
}

// Run migrates the tables. It requires only the database and a user who may create
// tables.
func (c *migrateCommand) Run(p *program) error {
	if c.PostgresURL == "" {
		return usage("ovation migrate needs a database: set OVATION_POSTGRES_URL, for example %s. ovation dev migrates its own file by itself.", exampleOf["OVATION_POSTGRES_URL"])
	}
	if err := postgres.Migrate(p.ctx, c.PostgresURL); err != nil {
		return withFlag(postgresFlags, err)
	}
	sayf(p.stdout, "The tables are up to date.\n")
	return nil
}
