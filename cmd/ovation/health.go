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

// healthCommand checks the health of a node. It exists for container images that contain
// no other program.
type healthCommand struct {
	URL  string  `arg:""                   help:"URL of the node: http://host:port; if empty, --addr on this machine." optional:""`
	Addr address `default:"127.0.0.1:8080" help:"Address that the node listens on."                                        env:"OVATION_ADDR"`
	Live bool    `help:"Check whether the node is running (/healthz) instead of ready for requests (/readyz)."                     env:"OVATION_HEALTH_LIVE"`
}

// healthTimeout is how long a node may take to answer.
const healthTimeout = 5 * time.Second

// Run prints the node's answer in one line. It returns an error unless the node answers
// with status 200.
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
	// No proxy is used, because a proxy might respond instead of the node.
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
	defer func() { _ = answer.Body.Close() }() // the body has been read
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 200))
	if err != nil {
		return fmt.Errorf("%s answers %s, and then breaks off: %w", at, answer.Status, err)
	}
	says := strings.Join(strings.Fields(string(raw)), " ")
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", at, answer.Status, says)
	}
	sayf(p.stdout, "%s answers %s\n", at, says)
	return nil
}

// at returns the URL to request.
func (c *healthCommand) at() (string, error) {
	path := "/readyz"
	if c.Live {
		path = "/healthz"
	}
	if c.URL != "" {
		at, err := url.Parse(c.URL)
		if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || strings.Trim(at.Path, "/") != "" {
			return "", usage("<url> is not the address of a node: write http://host:port") // c.URL is not printed, because it may contain a password
		}
		return at.Scheme + "://" + at.Host + path, nil
	}
	host, port, err := net.SplitHostPort(string(c.Addr))
	if err != nil || port == "0" {
		return "", usage("--addr or OVATION_ADDR is %s: name the port that the node listens on", c.Addr)
	}
	// A node that listens on all addresses also listens on the loopback address. That
	// address is given by number, because a container image may have no /etc/hosts.
	switch ip := net.ParseIP(host); {
	case host == "" || ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6zero):
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port) + path, nil
}
