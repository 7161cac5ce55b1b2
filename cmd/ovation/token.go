package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"ovation/api/viewer"
	"ovation/storage"
)

// tokenCommand prints a token and nothing else.
type tokenCommand struct {
	dataFlag `embed:""`

	User      string   `help:"The user's id." placeholder:"USER" required:"" type:"user" env:"OVATION_TOKEN_USER"`
	Tenant    string   `default:"default" help:"The user's tenant." type:"tenant" env:"OVATION_TOKEN_TENANT"`
	TTL       lifetime `default:"24h"                                                     help:"How long the token is valid, for example 30m." name:"ttl"                      env:"OVATION_TOKEN_TTL"`
	Issuer    string   `help:"Its iss claim; none if empty."                              env:"OVATION_ISSUER"`
	Audience  string   `help:"Its aud claim; none if empty."                              env:"OVATION_AUDIENCE"`
	Scope     string   `help:"Its scope claim: moderate, subjects:write, actions:write, or several, separated by a space; none if empty." env:"OVATION_TOKEN_SCOPE"`
	JWTSecret secret   `help:"Secret to sign with; if empty, the one in the data folder." name:"jwt-secret"                  env:"OVATION_JWT_SECRET"`
}

// Help returns the text between the command's summary and its flags.
func (*tokenCommand) Help() string {
	return `For ovation dev and ovation stack, the secret is read from their data folder; for ovation serve set OVATION_JWT_SECRET to the secret of its nodes. Send the token in the header Authorization, and on a WebSocket in the payload of connection_init:

  curl http://127.0.0.1:8080/graphql -H 'Content-Type: application/json' \
    -H "Authorization: Bearer $(ovation token --user alice)" -d '{"query": "{ viewer { userId } }"}'

With the scope moderate, a user can edit and delete the comments of others; with subjects:write a service declares the authors of subjects; with actions:write it records actions of users (recordActions).

Tokens that are verified with a key set (--jwks) are issued by its owner, an identity provider, not by this command.`
}

// Run prints the token.
func (c *tokenCommand) Run(p *program) error {
	key := []byte(c.JWTSecret)
	if len(key) == 0 {
		// ovation stack also keeps its secret in the data folder.
		if name := firstSet(p.getenv, distributed...); name != "" && !c.locked(stackLock) {
			return usage("%s is set, so this is a token for ovation serve: set OVATION_JWT_SECRET to the secret of its nodes. "+
				"The secret in the data folder %s is that of ovation dev, and ovation stack does not run on it", name, c.Data)
		}
		var err error
		key, err = c.readSecret()
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no secret to sign with: start ovation dev or ovation stack, which store one in the data folder %s (--data names another folder), or set OVATION_JWT_SECRET", c.Data)
		}
		if err != nil {
			return err
		}
	}
	token, err := viewer.Sign(key, storage.User{Tenant: c.Tenant, UserID: c.User}, time.Duration(c.TTL),
		viewer.Issuer(c.Issuer), viewer.Audience(c.Audience), viewer.Scope(c.Scope))
	if err != nil {
		return usage("%w", err) // every flag has been checked already
	}
	sayf(p.stdout, "%s\n", token)
	return nil
}
