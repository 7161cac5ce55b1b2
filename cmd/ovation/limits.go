package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/api/rate"
)

// limitFlags are the flags that limit clients' requests.
type limitFlags struct {
	RatePerUser     int            `default:"15000" help:"Cost per second of one signed-in user's requests, in units of about 1 µs of CPU time, with bursts of ten times as much; 0 means no limit." type:"units" env:"OVATION_RATE_PER_USER"`
	RatePerAddress  int            `default:"20000" help:"Cost per second of anonymous requests from one address (for IPv6, one /64; its /56 and /48 have 2 and 4 times as much); 0 means no limit." type:"units" env:"OVATION_RATE_PER_ADDRESS"`
	RatePerSocket   int            `default:"15000" help:"Cost per second of one WebSocket; 0 means no limit." type:"units" env:"OVATION_RATE_PER_SOCKET"`
	MessagesPerUser int            `default:"120" help:"Messages per minute that one user may send through one node; 0 means no limit." type:"units" env:"OVATION_MESSAGES_PER_USER"`
	TrustedProxies  []proxyNetwork `help:"Proxies whose X-Forwarded-For or Forwarded header is trusted, comma-separated: 10.0.0.0/8, 127.0.0.1."        env:"OVATION_TRUSTED_PROXIES"`

	MaxStreamsPerAddress       int `default:"1000" help:"Maximum number of open streams of anonymous viewers per address." type:"streams" env:"OVATION_MAX_STREAMS_PER_ADDRESS"`
	MaxSubscriptionsPerUser    int `default:"2500" help:"Maximum number of open subscriptions per signed-in user." type:"streams" env:"OVATION_MAX_SUBSCRIPTIONS_PER_USER"`
	MaxSubscriptionsPerAddress int `default:"5000" help:"Maximum number of open subscriptions of anonymous viewers per address." type:"streams" env:"OVATION_MAX_SUBSCRIPTIONS_PER_ADDRESS"`
	AnonymousPercent           int `default:"75" help:"Percentage of all streams and subscriptions that anonymous viewers may use, 1 to 100." type:"percentage" env:"OVATION_ANONYMOUS_PERCENT"`

	MaxBatchOperations int `default:"10" help:"Maximum number of operations in one HTTP request, as a JSON array; 0 refuses such batches." type:"batch" env:"OVATION_MAX_BATCH_OPERATIONS"`
	MaxMutationFields  int `default:"10" help:"Maximum number of root fields of a mutation." type:"fields" env:"OVATION_MAX_MUTATION_FIELDS"`
}

func (f limitFlags) limiter(log *slog.Logger, registry prometheus.Registerer) *rate.Limiter {
	cfg := rate.Config{
		PerUser: f.RatePerUser, PerAddress: f.RatePerAddress, PerSocket: f.RatePerSocket,
		MessagesPerUser: f.MessagesPerUser,
		Logger:          log, Registry: registry,
	}
	for _, proxy := range f.TrustedProxies {
		cfg.TrustedProxies = append(cfg.TrustedProxies, proxy.Prefix)
	}
	return rate.New(cfg)
}

// proxyNetwork is a network of trusted proxies.
type proxyNetwork struct{ netip.Prefix }

// UnmarshalText accepts a network or an address. It ignores surrounding space, which the
// entries of a list may have.
func (n *proxyNetwork) UnmarshalText(text []byte) (err error) {
	text = bytes.TrimSpace(text)
	var address netip.Addr
	if n.Prefix, err = netip.ParsePrefix(string(text)); err != nil {
		address, err = netip.ParseAddr(string(text))
		n.Prefix = netip.PrefixFrom(address, address.BitLen())
	}
	switch {
	case err != nil || address.Zone() != "":
		return fmt.Errorf("%q is neither a network nor an address: write for example 10.0.0.0/8, fd00::/8 or 127.0.0.1", text)
	case n.Addr().Is4In6():
		return fmt.Errorf("%q is an IPv4 address in IPv6: write it as IPv4, for example 10.0.0.0/8", text)
	}
	return nil
}
