package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// visit sends an anonymous request, with the X-Forwarded-For header if forwarded is not
// "", and returns the status.
func (s *server) visit(t *testing.T, forwarded string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/graphql", strings.NewReader(`{"query":"{__typename}"}`))
	must.Succeed(t, err)
	request.Header.Set("Content-Type", "application/json")
	if forwarded != "" {
		request.Header.Set("X-Forwarded-For", forwarded)
	}
	response, err := client.Do(request)
	must.Succeed(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	must.Succeed(t, err)
	must.Succeed(t, response.Body.Close())
	return response.StatusCode
}

// drain sends anonymous requests until one is refused, and returns how many were not. The
// function forwarded returns the X-Forwarded-For header of request i.
func (s *server) drain(t *testing.T, forwarded func(i int) string) (passed int) {
	t.Helper()
	for i := range 10_000 {
		if s.visit(t, forwarded(i)) == http.StatusTooManyRequests {
			return i
		}
	}
	t.Fatal("none of 10,000 requests was limited")
	return 0
}

// TestForgedAddressesDoNotMultiplyALimit sends requests from a client behind a trusted
// proxy, with a different forged address in each request. All requests must count towards
// one limit.
func TestForgedAddressesDoNotMultiplyALimit(t *testing.T) {
	forge := func(i int) string { return fmt.Sprintf("198.51.100.%d", i%250) }
	behind := serve(t, emptyData(t), "--rate-per-address=10", "--trusted-proxies=10.0.0.0/8,127.0.0.1", "--log-level=error")
	behind.drain(t, func(i int) string { return forge(i) + ", 192.0.2.1" }) // the proxy adds the last address
	if status := behind.visit(t, "192.0.2.2"); status != http.StatusOK {
		t.Errorf("another client of the proxy: got status %d, want 200", status)
	}
	// With a limit of its own, at least 7 requests would pass. A few requests pass if the
	// machine has stalled since the limit was reached.
	if passed := behind.drain(t, func(int) string { return "192.0.2.1, 10.1.2.3" }); passed > 3 {
		t.Errorf("the same client through another proxy: %d requests passed, want at most 3", passed)
	}
}

const (
	feed = `query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { id biz bizId readCount likeCount ` +
		`dislikeCount collectCount liked { reaction at } collected { at folder { id name } } version freshness } }`
	view = `mutation Read($input: ReadInput!) { read(input: $input) { changed interactive { id readCount } } }`
)

// TestOrdinaryUseStaysWithinTheLimits sends the requests that first a user and then an
// anonymous viewer might send, without pauses. Each of the two scrolls through 600
// subjects; the user also likes 30 subjects. No request may be refused.
func TestOrdinaryUseStaysWithinTheLimits(t *testing.T) {
	t.Parallel()
	s := serveBinary(t, t.TempDir())
	send := func(user, query string, variables any) {
		t.Helper()
		body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
		must.Succeed(t, err)
		must.Succeed(t, s.post(body, dev(user), nil))
	}
	for _, user := range []string{"alice", ""} {
		for page := range 30 {
			var subjects []any
			for i := range 20 {
				subject := map[string]string{"biz": "video", "bizId": fmt.Sprint(20*page + i)}
				subjects = append(subjects, subject)
				send(user, view, map[string]any{"input": subject})
			}
			send(user, feed, map[string]any{"subjects": subjects})
			if user != "" {
				s.like(t, user, fmt.Sprint(page))
			}
		}
	}
}

func TestInvalidLimitsAreRejected(t *testing.T) {
	for flag, want := range map[string]string{
		"--trusted-proxies=10.0.0.0/33":         `"10.0.0.0/33" is neither a network nor an address: write for example 10.0.0.0/8`,
		"--trusted-proxies=10.0.0.0/8,proxy":    `"proxy" is neither a network`,
		"--trusted-proxies=fe80::1%eth0":        `"fe80::1%eth0" is neither a network`,
		"--trusted-proxies=::ffff:10.0.0.0/104": "write it as IPv4",
		"--rate-per-user=-1":                    `"-1" is not a number from 0`,
		"--rate-per-address=1.5":                `"1.5" is not a number from 0`,
		"--rate-per-socket=many":                `"many" is not a number from 0`,
		"--max-mutation-fields=0":               `"0" is not a number from 1 to 1000`,
	} {
		call(t, environment(), "dev", "--data="+t.TempDir(), flag).want(t, exitUsage, strings.SplitN(flag, "=", 2)[0], want)
	}
}
