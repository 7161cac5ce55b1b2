package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ovation/api/enforce"
	"ovation/resolvers"
	"ovation/storage/policy"
)

// configCommand checks and describes configuration files.
type configCommand struct {
	Check  configCheckCommand  `cmd:"" example:"ovation config check ovation.yaml" group:"commands" help:"Check a configuration file and print all errors in it."`
	Schema configSchemaCommand `cmd:"" group:"commands" help:"Print the JSON Schema of configuration files, for editors."`
}

// configCheckCommand checks a file.
type configCheckCommand struct {
	File string `arg:"" help:"The file: YAML or JSON."`
}

// Run prints what the file configures. If the file is not valid, the error lists all
// problems.
func (c *configCheckCommand) Run(p *program) error {
	checked, err := policy.ReadFile(c.File)
	if invalid, is := errors.AsType[*policy.FileError](err); is {
		sayf(p.stderr, "%v\n", invalid) // each line begins with the file, as editors expect it
		return &exitError{code: exitFailed}
	}
	if err != nil {
		return err
	}
	tenants, kinds := checked.Size()
	sayf(p.stdout, "%s is valid: settings for %d kinds of content, and for %d tenants of their own.\n", c.File, kinds, tenants)
	return nil
}

// configSchemaCommand prints the JSON Schema.
type configSchemaCommand struct{}

// Run prints the schema and nothing else.
func (*configSchemaCommand) Run(p *program) error {
	if _, err := p.stdout.Write(policy.Schema()); err != nil {
		return fmt.Errorf("print the schema: %w", err)
	}
	return nil
}

// configFlag names the configuration file.
type configFlag struct {
	Config string `help:"File (YAML or JSON) that says what users may do, by kind of content and tenant; must be the same for all processes. If empty, everything is allowed. Reloaded on SIGHUP." env:"OVATION_CONFIG"`
}

// siteConfig is the configuration in use.
type siteConfig struct {
	path     string         // empty if there is no file
	policies *policy.Handle // nil if there is no file
}

// openConfig reads the configuration, if there is one.
func (f configFlag) openConfig() (siteConfig, error) {
	if f.Config == "" {
		return siteConfig{}, nil
	}
	read, err := policy.ReadFile(f.Config)
	if err != nil {
		return siteConfig{}, usage("--config or OVATION_CONFIG: %w", err)
	}
	return siteConfig{f.Config, policy.NewHandle(read)}, nil
}

// reloads makes the program read the file again on SIGHUP.
func (c siteConfig) reloads(p *program, registry prometheus.Registerer) {
	if c.policies == nil {
		return
	}
	valid := promauto.With(registry).NewGauge(prometheus.GaugeOpts{
		Name: "ovation_config_valid",
		Help: "1 if the configuration file was valid when it was last read, or 0 if an older one is in use.",
	})
	valid.Set(1)
	p.onReload("--config "+c.path, func(context.Context) error {
		read, err := policy.ReadFile(c.path)
		if err != nil {
			valid.Set(0)
			return err
		}
		c.policies.Set(read)
		valid.Set(1)
		return nil
	})
}

// apply makes the API enforce the configuration.
func (c siteConfig) apply(cfg *resolvers.Config) {
	if c.policies == nil {
		return
	}
	e := enforce.New(c.policies)
	cfg.Comments = e.Comments(cfg.Comments, cfg.Store)
	cfg.Policy, cfg.Store, cfg.Recorder = e, e.Store(cfg.Store), e.Recorder(cfg.Recorder)
	cfg.Authors, cfg.Batches = e.Authors(cfg.Authors), e.Batches(cfg.Batches)
}
