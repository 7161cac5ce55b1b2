package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"ovation/resolvers"
	"ovation/resolvers/transport"
	"ovation/resolvers/viewer"
	"ovation/web"
)

// logFlag says how much a server logs.
type logFlag struct {
	LogLevel level `default:"info" help:"What to log: debug, info, warn or error." variable:"OVATION_LOG_LEVEL"`
}

// apiFlags are those of every command that serves the API.
type apiFlags struct {
	logFlag    `embed:""`
	limitFlags `embed:""`

	Addr           address  `default:"127.0.0.1:8080"                                                  help:"Address to listen on; port 0 is any free one." variable:"OVATION_ADDR"`
	MetricsAddr    address  `help:"Address that serves /metrics, and nothing else; if empty, --addr serves it too." variable:"OVATION_METRICS_ADDR"`
	JWKS           string   `help:"File or URL of a key set that verifies RS256 and ES256 tokens."     name:"jwks"                                          variable:"OVATION_JWKS"`
	Issuer         string   `help:"What the iss claim of a token must be; anything if empty."          variable:"OVATION_ISSUER"`
	Audience       string   `help:"What the aud claim of a token must hold; required with --jwks, where any accepts the tokens of other applications too." variable:"OVATION_AUDIENCE"`
	AllowedOrigins []origin `help:"Other web sites that may call the API, comma-separated; * is all."  variable:"OVATION_ALLOWED_ORIGINS"`

	MaxStreams        int `default:"20000" help:"WebSockets and event streams that may be open." type:"streams" variable:"OVATION_MAX_STREAMS"`
	MaxStreamsPerUser int `default:"50" help:"How many of them a signed-in user may have." type:"streams" variable:"OVATION_MAX_STREAMS_PER_USER"`
	MaxSubscriptions  int `default:"50000" help:"Subscriptions that may be open." type:"streams" variable:"OVATION_MAX_SUBSCRIPTIONS"`
	MaxPerSocket      int `default:"100" help:"Operations that may go on at the same time on one WebSocket, subscriptions included." type:"streams" variable:"OVATION_MAX_PER_SOCKET"`
}

// api is the API, with the pages for people.
type api struct {
	http.Handler

	streams *transport.Streams
	metrics net.Addr // of /metrics, nil where the Handler serves it
	close   func()   // to be called in the end
}

// checkTokens refuses a key set without an audience: its keys usually sign the
// tokens of other applications too.
func (f apiFlags) checkTokens() error {
	if f.JWKS != "" && f.Audience == "" {
		return usage("--jwks or OVATION_JWKS needs --audience or OVATION_AUDIENCE: what the aud claim of a token must hold, or the word any, " +
			"which also accepts the tokens that the same keys sign for other applications")
	}
	return nil
}

// newAPI returns the API for those whose tokens the key signed.
func (f apiFlags) newAPI(ctx context.Context, key []byte, headers viewer.DevHeaders, cfg resolvers.Config) (*api, error) {
	auth, err := viewer.New(ctx, viewer.Config{
		Secret: key, JWKS: f.JWKS, Issuer: f.Issuer, Audience: f.Audience, DevHeaders: headers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("set up tokens by --jwks or OVATION_JWKS: %w", err) // the secret is checked by now
	}
	out := &api{close: func() { _ = auth.Close() }} // nothing of it outlives the process
	if f.MetricsAddr != "" {
		var stop func()
		if out.metrics, stop, err = serveMetrics(ctx, f.MetricsAddr, cfg.Registry, cfg.Logger); err != nil {
			out.close()
			return nil, err
		}
		out.close = func() {
			stop()
			_ = auth.Close()
		}
		cfg.MetricsElsewhere = true
	}
	out.streams = transport.NewStreams(transport.StreamOptions{
		MaxStreams: f.MaxStreams, MaxStreamsPerUser: f.MaxStreamsPerUser,
		MaxStreamsPerAddress: f.MaxStreamsPerAddress, MaxSubscriptionsPerAddress: f.MaxSubscriptionsPerAddress,
		AnonymousPercent: f.AnonymousPercent,
		MaxSubscriptions: f.MaxSubscriptions, MaxPerSocket: f.MaxPerSocket, Registry: cfg.Registry,
	})
	cfg.Auth, cfg.Streams = auth, out.streams
	cfg.MaxMutationFields, cfg.Limiter = f.MaxMutationFields, f.limiter(cfg.Logger, cfg.Registry)
	for _, o := range f.AllowedOrigins {
		cfg.AllowedOrigins = append(cfg.AllowedOrigins, string(o))
	}
	if cfg.Pages, err = web.Handler(web.Files()); err == nil {
		out.Handler, err = resolvers.NewHandler(ctx, cfg)
	}
	if err != nil {
		out.close()
		return nil, err
	}
	return out, nil
}
