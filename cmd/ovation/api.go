package main

import (
	"fmt"
	"net"
	"net/http"
	"slices"

	"ovation/api/openapi"
	"ovation/api/viewer"
	"ovation/resolvers"
	"ovation/resolvers/transport"
	"ovation/storage"
	"ovation/web"
)

// logFlag determines how much a server logs.
type logFlag struct {
	LogLevel level `default:"info" help:"What to log: debug, info, warn or error." env:"OVATION_LOG_LEVEL"`
}

// apiFlags are the flags of every command that serves the API.
type apiFlags struct {
	logFlag      `embed:""`
	limitFlags   `embed:""`
	trustedFlags `embed:""`
	accountFlags `embed:""`
	videoFlags   `embed:""`
	douyinFlags  `embed:""`
	configFlag   `embed:""`

	Addr           address  `default:"127.0.0.1:8080"                                                  help:"Address to listen on; port 0 is any free one." env:"OVATION_ADDR"`
	MetricsAddr    address  `help:"Address that serves only /metrics; if empty, --addr serves it." env:"OVATION_METRICS_ADDR"`
	JWKS           string   `help:"File or URL of the key set that verifies RS256, ES256 and EdDSA tokens."     name:"jwks"                                          env:"OVATION_JWKS"`
	Issuer         string   `help:"The iss claim that tokens must have; any if empty."          env:"OVATION_ISSUER"`
	Audience       string   `help:"The aud claim that tokens must have; required with --jwks. The word any accepts every token, also those issued for other applications." env:"OVATION_AUDIENCE"`
	AllowedOrigins []origin `help:"Origins whose pages may call the API, comma-separated; * allows all. Pages on this machine may always call ovation dev."  env:"OVATION_ALLOWED_ORIGINS"`

	Federation bool `help:"Also serve the API as a subgraph of Apollo Federation." env:"OVATION_FEDERATION"`

	MaxStreams        int `default:"20000" help:"Maximum number of open streams: WebSockets and event streams." type:"streams" env:"OVATION_MAX_STREAMS"`
	MaxStreamsPerUser int `default:"50" help:"Maximum number of open streams per signed-in user." type:"streams" env:"OVATION_MAX_STREAMS_PER_USER"`
	MaxSubscriptions  int `default:"50000" help:"Maximum number of open subscriptions." type:"streams" env:"OVATION_MAX_SUBSCRIPTIONS"`
	MaxPerSocket      int `default:"100" help:"Maximum number of concurrent operations on one WebSocket, including subscriptions." type:"streams" env:"OVATION_MAX_PER_SOCKET"`
}

// api serves the API and the web pages.
type api struct {
	http.Handler

	streams *transport.Streams
	metrics net.Addr // where /metrics is served; nil if the Handler serves it
	close   func()   // to be called after serving has ended
}

// checkTokens returns a usage error if a key set is configured without an audience. A key
// set usually signs tokens for other applications, too; only the audience tells them
// apart.
func (f apiFlags) checkTokens() error {
	if f.JWKS != "" && f.Audience == "" {
		return usage("--jwks or OVATION_JWKS needs --audience or OVATION_AUDIENCE: the aud claim that tokens must have, or the word any, " +
			"which also accepts the tokens that the same keys sign for other applications")
	}
	return nil
}

// development configures the features of the API that only ovation dev has.
type development struct {
	headers viewer.DevHeaders
	survey  storage.Surveyor // the source of the data page
	demo    bool             // whether the database may have the demo data
}

// newAPI returns the API. It accepts tokens signed with secret, offers accounts if
// accountsOn is true, and offers videos unless videos is the zero value. dev is nil
// except in ovation dev. Files of the API are reloaded with those of the program.
func (f apiFlags) newAPI(p *program, secret []byte, accountsOn bool, dev *development, videos *videoSite, cfg resolvers.Config) (_ *api, err error) {
	ctx := p.ctx
	var ends []func()
	out := &api{close: func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}}
	defer func() {
		if err != nil {
			out.close()
		}
	}()
	headers := viewer.RefuseDevHeaders
	if dev != nil {
		headers = dev.headers
	}
	var own account
	if accountsOn {
		if own, err = f.openAccounts(ctx, secret, cfg); err != nil {
			return nil, err
		}
		ends = append(ends, own.close)
	}
	auth, err := viewer.New(ctx, viewer.Config{
		Secret: secret, SiteKeys: own.keys, Sessions: own.sessions, JWKS: f.JWKS, Issuer: f.Issuer, Audience: f.Audience,
		DevHeaders: headers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("--jwks or OVATION_JWKS: %w", err) // the error is about the key set: the secret has been checked already
	}
	ends = append(ends, func() { _ = auth.Close() }) // an error would have no effect beyond this process
	if f.MetricsAddr != "" {
		var stop func()
		if out.metrics, stop, err = serveMetrics(ctx, f.MetricsAddr, cfg.Registry, cfg.Logger); err != nil {
			return nil, err
		}
		ends = append(ends, stop)
		cfg.MetricsElsewhere = true
	}
	out.streams = transport.NewStreams(transport.StreamOptions{
		MaxStreams: f.MaxStreams, MaxStreamsPerUser: f.MaxStreamsPerUser,
		MaxStreamsPerAddress: f.MaxStreamsPerAddress, MaxSubscriptionsPerAddress: f.MaxSubscriptionsPerAddress,
		AnonymousPercent: f.AnonymousPercent, MaxSubscriptionsPerUser: f.MaxSubscriptionsPerUser,
		MaxSubscriptions: f.MaxSubscriptions, MaxPerSocket: f.MaxPerSocket, Registry: cfg.Registry,
	})
	cfg.Auth, cfg.Streams, cfg.Accounts, cfg.KeySet = auth, out.streams, own.service, own.keySet
	cfg.Federation, cfg.MaxMutationFields, cfg.MaxBatch, cfg.Limiter = f.Federation, f.MaxMutationFields, f.MaxBatchOperations, f.limiter(cfg.Logger, cfg.Registry)
	cfg.Origins = transport.NewOrigins(transport.OriginOptions{Allowed: f.allowed(), Development: dev != nil, Logger: cfg.Logger})
	cfg.Trusted = f.trusted(p, cfg.Registry)
	videos.install(&cfg)
	f.install(&cfg, videos)
	if err = installOpenAPI(&cfg); err != nil {
		return nil, err
	}
	if cfg.Pages, err = web.Handler(web.Files(), web.Options{Data: dev != nil, Demo: dev != nil && dev.demo, Names: headers != viewer.RefuseDevHeaders}); err != nil {
		return nil, err
	}
	if dev != nil {
		cfg.Pages = withData(cfg.Pages, dev.survey, auth, cfg)
	}
	if out.Handler, err = resolvers.NewHandler(ctx, cfg); err != nil {
		return nil, err
	}
	return out, nil
}

// installOpenAPI adds the OpenAPI document of what cfg offers beside GraphQL, if it offers
// anything.
func installOpenAPI(cfg *resolvers.Config) error {
	number, _ := built()
	parts := openapi.Options{Version: number, Douyin: cfg.Douyin != nil, Media: cfg.Uploads != nil}
	if !parts.Douyin && !parts.Media {
		return nil
	}
	document, err := openapi.Document(parts)
	if err == nil {
		cfg.OpenAPI = openapi.Handler(document)
	}
	return err
}

// allowed returns AllowedOrigins as strings.
func (f apiFlags) allowed() []string {
	allowed := make([]string, len(f.AllowedOrigins))
	for i, o := range f.AllowedOrigins {
		allowed[i] = string(o)
	}
	return allowed
}
