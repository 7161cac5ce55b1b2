package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// wrkScript makes wrk send random requests from a file. The file has one request on each
// line, with \1 in place of each line end within the request.
const wrkScript = `
local requests = {}
for line in io.lines(%q) do requests[#requests + 1] = line:gsub("\1", "\r\n") end
request = function() return requests[math.random(#requests)] end
`

var (
	wrkRate   = regexp.MustCompile(`Requests/sec: +([0-9.]+)`)
	wrkErrors = regexp.MustCompile(`Non-2xx or 3xx responses: \d+|Socket errors: .*`)
)

// crossCheck requests the same pages with wrk, if wrk is installed, to cross-check the
// rates that this program measures. wrk does not check the replies.
func (b *bench) crossCheck(ctx context.Context, r *row, systems []*system, workloads []*workload, clients int) error {
	path, err := exec.LookPath("wrk")
	if err != nil {
		return nil //nolint:nilerr // wrk is optional
	}
	var rates series
	for i, s := range systems {
		rate, err := b.runWrk(ctx, path, s.process.url, workloads[i], clients)
		if err != nil {
			return fmt.Errorf("wrk: %s: %w", s.name, err)
		}
		rates = append(rates, rate)
	}
	r.notes = append(r.notes, fmt.Sprintf("wrk measured %s pages/s of Ovation and %s of the floor, %.0f %%.", formatNumber(rates[0], 0), formatNumber(rates[1], 0), 100*rates[0]/rates[1]))
	return nil
}

func (b *bench) runWrk(ctx context.Context, path, url string, of *workload, clients int) (float64, error) {
	lines, script := b.installation.path("wrk.requests"), b.installation.path("wrk.lua")
	var text bytes.Buffer
	for _, request := range of.requests {
		text.Write(bytes.ReplaceAll(request, []byte("\r\n"), []byte{1}))
		text.WriteByte('\n')
	}
	if err := os.WriteFile(lines, text.Bytes(), 0o600); err != nil {
		return 0, err
	}
	if err := os.WriteFile(script, fmt.Appendf(nil, wrkScript, lines), 0o600); err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, path, "-t1", "-c"+strconv.Itoa(clients), //nolint:gosec // it was found in PATH
		"-d"+strconv.Itoa(max(1, int(b.runPlan.segment.Seconds())))+"s", "-s", script, url).CombinedOutput()
	found := wrkRate.FindSubmatch(out)
	if err != nil || found == nil {
		return 0, fmt.Errorf("%s: %w", out, cmp.Or(err, errors.New("wrk printed no rate")))
	}
	if faults := wrkErrors.Find(out); faults != nil {
		return 0, fmt.Errorf("%s", faults)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
