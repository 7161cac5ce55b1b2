package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"ovation/accounts"
	"ovation/api/viewer"
	"ovation/resolvers"
	"ovation/storage"
)

// accountFlags are the flags of a site that registers its users itself.
type accountFlags struct {
	AccountTokenTTL    time.Duration `default:"24h" help:"How long an account's token is valid before it must be refreshed." name:"account-token-ttl" type:"tokenttl" env:"OVATION_ACCOUNT_TOKEN_TTL"`
	AccountKey         int           `default:"1"   help:"Number of the key that signs account tokens if no secret is set; to rotate keys, increase it by one. The previous and the next key also verify." type:"key" env:"OVATION_ACCOUNT_KEY"`
	MinPasswordLength  int           `default:"6"   help:"Minimum length of new passwords, in characters, 6 to 128." type:"password" env:"OVATION_MIN_PASSWORD_LENGTH"`
	AttemptsPerAddress int           `default:"30"  help:"Registrations and failed logins that one address may make in a burst, then one every 10 s; 0 means no limit." type:"units" env:"OVATION_ATTEMPTS_PER_ADDRESS"`
}

// account holds the components behind a site's accounts. The zero value means that
// accounts are disabled.
type account struct {
	service  *accounts.Service
	sessions *viewer.Sessions
	keys     []viewer.SiteKey
	keySet   http.Handler
}

func (a account) close() {
	if a.service != nil {
		a.service.Close()
	}
}

// openAccounts returns the components that accounts need. Account tokens are signed with
// secret or, if secret is empty, with a key kept in the database.
func (f apiFlags) openAccounts(ctx context.Context, secret []byte, cfg resolvers.Config) (out account, err error) {
	signer := &viewer.Signer{Secret: secret, Issuer: f.Issuer, Audience: f.Audience, TTL: f.AccountTokenTTL}
	if len(secret) == 0 {
		if out.keys, err = siteKeys(ctx, cfg.Store, f.AccountKey); err != nil {
			return out, err
		}
		signer.Key = out.keys[1]
	}
	out.keySet, out.sessions = viewer.KeySet(out.keys), viewer.NewSessions()
	out.service, err = accounts.New(ctx, accounts.Config{
		Store: cfg.Store, Signer: signer, Sessions: out.sessions, AttemptsPerAddress: f.AttemptsPerAddress,
		MinPassword: f.MinPasswordLength,
		Logger:      cfg.Logger, Now: cfg.Now,
	})
	return out, err
}

// siteKeys returns the three keys that verify account tokens: those whose numbers differ
// from the given number by at most 1. The nodes of a site can therefore be restarted one
// by one with the next number, and accept each other's tokens in the meantime.
func siteKeys(ctx context.Context, store storage.Store, number int) (keys []viewer.SiteKey, err error) {
	for n := number - 1; n <= number+1; n++ {
		seed, err := store.Secret(ctx, "account key "+strconv.Itoa(n))
		if err != nil {
			return nil, fmt.Errorf("get the keys of accounts: %w", err)
		}
		key, err := viewer.NewSiteKey(seed)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}
