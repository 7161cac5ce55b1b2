package main

import "ovation/storage/postgres"

// migrateCommand brings the tables of a database up to this release.
type migrateCommand struct {
	postgresFlag `embed:""`
}

// Run migrates. The database is all it needs: a user who may make the tables,
// and neither Redis nor the queue.
func (c *migrateCommand) Run(p *program) error {
	if c.PostgresURL == "" {
		return usage("ovation migrate needs a database: set OVATION_POSTGRES_URL. ovation dev migrates its own file by itself.")
	}
	if err := postgres.Migrate(p.ctx, c.PostgresURL); err != nil {
		return blame(blamePostgres, err)
	}
	sayf(p.stdout, "The tables are up to date.\n")
	return nil
}
