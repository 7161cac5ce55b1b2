package main

import (
	"context"
	"fmt"
	"net/http"

	"ovation/resolvers"
	"ovation/resolvers/viewer"
	"ovation/web"
)

// logFlag says how much a server logs.
type logFlag struct {
	LogLevel level `default:"info" help:"What to log: debug, info, warn or error." variable:"OVATION_LOG_LEVEL"`
}

// apiFlags are those of every command that serves the API.
type apiFlags struct {
	logFlag `embed:""`

	Addr           address  `default:"127.0.0.1:8080"                                                  help:"Address to listen on; port 0 is any free one." variable:"OVATION_ADDR"`
	JWKS           string   `help:"File or URL of a key set that verifies RS256 and ES256 tokens."     name:"jwks"                                          variable:"OVATION_JWKS"`
	Issuer         string   `help:"What the iss claim of a token must be; anything if empty."          variable:"OVATION_ISSUER"`
	Audience       string   `help:"What the aud claim of a token must hold; anything if empty."        variable:"OVATION_AUDIENCE"`
	AllowedOrigins []origin `help:"Other web sites that may call the API, comma-separated; * is all."  variable:"OVATION_ALLOWED_ORIGINS"`
}

// handler is the API for those whose tokens the key signed, with the pages for
// people. What it returns besides is to be called in the end.
func (f apiFlags) handler(ctx context.Context, key []byte, headers viewer.DevHeaders, cfg resolvers.Config) (_ http.Handler, end func(), err error) {
	auth, err := viewer.New(ctx, viewer.Config{
		Secret: key, JWKS: f.JWKS, Issuer: f.Issuer, Audience: f.Audience, DevHeaders: headers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("set up tokens by --jwks or OVATION_JWKS: %w", err) // the secret is checked by now
	}
	end = func() { _ = auth.Close() } // nothing of it outlives the process
	cfg.Auth = auth
	for _, o := range f.AllowedOrigins {
		cfg.AllowedOrigins = append(cfg.AllowedOrigins, string(o))
	}
	var handler http.Handler
	if cfg.Pages, err = web.Handler(web.Files()); err == nil {
		handler, err = resolvers.NewHandler(ctx, cfg)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return handler, end, nil
}
