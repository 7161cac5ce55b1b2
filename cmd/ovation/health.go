package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// healthCommand asks a node how it is. It is there for images that hold no
// other program to ask with.
type healthCommand struct {
	URL  string  `arg:""                   help:"Where the node is: http://host:port; if empty, at --addr on this machine." optional:""`
	Addr address `default:"127.0.0.1:8080" help:"Address that the node listens on."                                        variable:"OVATION_ADDR"`
	Live bool    `help:"Ask only whether it runs (/healthz), not whether it wants requests (/readyz)."                     variable:"OVATION_HEALTH_LIVE"`
}

// healthTimeout is after how long without an answer a node is not well.
const healthTimeout = 5 * time.Second

// Run prints what the node says in one line, and fails unless it is well.
func (c *healthCommand) Run(p *program) error {
	at, err := c.at()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return usage("%w", err)
	}
	// No proxy stands between a node and who looks after it, and no answer but
	// its own counts.
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	switch failed := (*url.Error)(nil); {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s does not answer within %v", at, healthTimeout)
	case errors.As(err, &failed):
		return fmt.Errorf("%s does not answer: %w", at, failed.Err)
	case err != nil:
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	raw, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
	says := strings.Join(strings.Fields(string(raw)), " ")
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", at, answer.Status, says)
	}
	sayf(p.stdout, "%s answers %s\n", at, says)
	return nil
}

// at is what to ask.
func (c *healthCommand) at() (string, error) {
	path := "/readyz"
	if c.Live {
		path = "/healthz"
	}
	if c.URL != "" {
		at, err := url.Parse(c.URL)
		if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || strings.Trim(at.Path, "/") != "" {
			return "", usage("<url> is not where a node can be: write http://host:port") // it may hold a password
		}
		return at.Scheme + "://" + at.Host + path, nil
	}
	host, port, err := net.SplitHostPort(string(c.Addr))
	if err != nil || port == "0" {
		return "", usage("--addr or OVATION_ADDR is %s: name the port that the node listens on", c.Addr)
	}
	// Where it listens on all addresses, it does so on that of the machine itself.
	// By number, for the image has no list of names.
	switch ip := net.ParseIP(host); {
	case host == "" || ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6zero):
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port) + path, nil
}
