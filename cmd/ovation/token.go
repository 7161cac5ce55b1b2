package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"ovation/resolvers/viewer"
	"ovation/storage"
)

// tokenCommand prints a token and nothing else.
type tokenCommand struct {
	dataFlag `embed:""`

	User      string        `help:"The user's id." placeholder:"USER" required:"" type:"user" variable:"OVATION_TOKEN_USER"`
	Tenant    string        `default:"default" help:"The user's tenant." type:"tenant" variable:"OVATION_TOKEN_TENANT"`
	TTL       time.Duration `default:"24h"                                                     help:"How long the token is good." name:"ttl"                      variable:"OVATION_TOKEN_TTL"`
	Issuer    string        `help:"Its iss claim; none if empty."                              variable:"OVATION_ISSUER"`
	Audience  string        `help:"Its aud claim; none if empty."                              variable:"OVATION_AUDIENCE"`
	JWTSecret secret        `help:"Secret to sign with; if empty, the one in the data folder." name:"jwt-secret"                  variable:"OVATION_JWT_SECRET"`
}

// Run prints the token.
func (c *tokenCommand) Run(p *program) error {
	key := []byte(c.JWTSecret)
	if len(key) == 0 {
		// ovation stack, too, keeps its secret in the data folder.
		if name := firstSet(p.getenv, distributed...); name != "" && !c.locked(stackLock) {
			return usage("%s is set, so the token is for ovation serve, whose secret is to be in OVATION_JWT_SECRET; "+
				"the one in the data folder %s is that of ovation dev, and ovation stack does not run on it", name, c.Data)
		}
		var err error
		key, err = c.readSecret()
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no secret to sign with: start ovation dev or ovation stack, which keep one in the data folder %s, or set OVATION_JWT_SECRET", c.Data)
		}
		if err != nil {
			return err
		}
	}
	token, err := viewer.Sign(key, storage.User{Tenant: c.Tenant, UserID: c.User}, c.TTL,
		viewer.Issuer(c.Issuer), viewer.Audience(c.Audience))
	if err != nil {
		return usage("--ttl or OVATION_TOKEN_TTL: %w", err) // everything else is checked by now
	}
	sayf(p.stdout, "%s\n", token)
	return nil
}
