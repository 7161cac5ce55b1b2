package main

import (
	"errors"
	"net/http"

	"ovation/api/douyin"
	"ovation/resolvers"
	"ovation/resolvers/transport"
)

// douyinFlags are the flags of the API for mini Douyin clients.
type douyinFlags struct {
	Douyin    bool      `default:"true" help:"Serve the API for mini Douyin clients below /douyin/, as far as accounts and videos are enabled." negatable:"" env:"OVATION_DOUYIN"`
	PublicURL publicURL `help:"Scheme and host for the URLs that /douyin/ returns; if empty, those of each request." name:"public-url" placeholder:"URL" env:"OVATION_PUBLIC_URL"`
}

// publicURL is the scheme and host of a site.
type publicURL string

// UnmarshalText accepts a scheme and a host, with or without a port. It also accepts an
// empty text.
func (u *publicURL) UnmarshalText(text []byte) error {
	if string(text) == "*" {
		return errors.New("it must be one address: write scheme://host or scheme://host:port, for example https://app.example.com")
	}
	if len(text) > 0 {
		if err := transport.CheckOrigin(string(text)); err != nil {
			return err
		}
	}
	*u = publicURL(text)
	return nil
}

// install adds the API for mini Douyin clients to cfg, if that API is enabled. All other
// fields of cfg must already be set.
func (f douyinFlags) install(cfg *resolvers.Config, videos *videoSite) {
	if !f.Douyin {
		return
	}
	face := douyin.Config{
		Source: cfg.Store, Recorder: cfg.Recorder, Comments: cfg.Comments, Messages: cfg.Messages,
		Accounts: cfg.Accounts, Videos: videos.service, Policy: cfg.Policy, PublicURL: string(f.PublicURL), Now: cfg.Now,
	}
	cfg.Douyin = func(around transport.Config) http.Handler { return douyin.New(face, around) }
}
