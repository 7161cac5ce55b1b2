package main

import (
	"errors"

	"ovation/storage/postgres"
)

// migrateCommand brings the tables of a database up to this release.
type migrateCommand struct {
	postgresFlag `embed:""`
}

// Run migrates and says what it did.
func (c *migrateCommand) Run(p *program) error {
	if c.PostgresURL == "" {
		return usage("ovation migrate needs a database: set OVATION_POSTGRES_URL. ovation dev migrates its own file by itself.")
	}
	store, err := c.openPostgres(p.ctx, quietly)
	switch {
	case err == nil:
		sayf(p.stdout, "The tables are up to date.\n")
		return store.Close()
	case !errors.Is(err, postgres.ErrNotMigrated):
		return err
	}
	if err := blame("--postgres-url or OVATION_POSTGRES_URL", postgres.Migrate(p.ctx, c.PostgresURL)); err != nil {
		return err
	}
	sayf(p.stdout, "The tables were brought up to date.\n")
	return nil
}
