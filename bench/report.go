package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rabbitmq/amqp091-go"
	"github.com/redis/rueidis"
)

// report returns the report of the run.
func (b *bench) report(ctx context.Context) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Benchmark\n\nWritten by `make bench` (see the documentation of package bench). %s run of %.0f s on %s, seed %d.\n\n",
		strings.ToUpper(b.runPlan.name[:1])+b.runPlan.name[1:], secondsSince(b.started), time.Now().UTC().Format(time.DateOnly), b.seed)
	figures, chart := figuresOf(b.measuredRows), ""
	if b.options.report != "" && drawChart(figures) != "" {
		chart = filepath.Base(chartFile(b.options.report))
	}
	out.WriteString(figuresTable(figures, chart, runtime.NumCPU()))
	out.WriteString("## Conditions\n\n")
	for _, line := range append(b.describeMachine(ctx, b.othersCPU()), b.describeData()) {
		fmt.Fprintf(&out, "- %s\n", line)
	}
	out.WriteString("\n## Targets\n\nMost compare Ovation with the floor, which answers the same requests in the same run.\n\n| row | target | result: median (least–most of the rounds) | met |\n|---|---|---|---|\n")
	for _, r := range b.measuredRows {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.title, r.target, r.result, map[bool]string{true: "yes", false: "**no**"}[r.met])
	}
	names := []string{redisName, "rabbitmq", "postgres", generatorName, othersName}
	out.WriteString("\n## Cost\n\n" +
		"Medians of the rounds, per request (action, row). CPU is user and system time while requests are sent; load is the generator, which sends requests and checks the replies; " +
		"others is everything that is not part of the run. Objects and KB are allocations of the server. A dash means not measured.\n\n")
	fmt.Fprintf(&out, "| row | of | a second | p50 ms | p99 ms | CPU µs: server | worker | %s | objects | KB |\n|---|---|---|---|---|---|---|%s---|---|\n",
		strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, r := range b.measuredRows {
		for _, m := range r.measurements {
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s | %s |", r.title, m.name, formatSpread(m.rate, 0), formatMedian(m.p50, 1, 2), formatMedian(m.p99, 1, 2), formatMedian(m.serverCPU, 1, 0), formatMedian(m.cpuPerRequest(m.workerName), 1, 0))
			for _, name := range names {
				fmt.Fprintf(&out, " %s |", formatMedian(m.cpuPerRequest(name), 1, 0))
			}
			fmt.Fprintf(&out, " %s | %s |\n", formatMedian(m.mallocs, 1, 0), formatMedian(m.bytes, 1.0/1024, 1))
		}
	}
	out.WriteString("\n## Notes\n\n")
	for _, r := range b.measuredRows {
		if len(r.notes) > 0 {
			fmt.Fprintf(&out, "- %s: %s\n", r.title, strings.Join(r.notes, " "))
		}
	}
	fmt.Fprintf(&out, "- At the end every acknowledged like was in Postgres, the queues of Ovation were empty, and `ovation verify` reported: %s\n", b.verifyOutput)
	return out.String()
}

// formatSpread formats the median. If there is more than one round, it adds the minimum
// and the maximum.
func formatSpread(s series, digits int) string {
	if len(s) < 2 {
		return formatMedian(s, 1, digits)
	}
	return fmt.Sprintf("%s (%s–%s)", formatMedian(s, 1, digits), formatNumber(slices.Min(s), digits), formatNumber(slices.Max(s), digits))
}

// formatMedian formats the median multiplied by scale, or a dash if s is empty.
func formatMedian(s series, scale float64, digits int) string {
	if len(s) == 0 {
		return "–"
	}
	return formatNumber(s.median()*scale, digits)
}

func formatPercent(s series) string {
	return fmt.Sprintf("%.0f %% (%.0f–%.0f)", 100*s.median(), 100*slices.Min(s), 100*slices.Max(s))
}

func formatRate(s series, what string) string { return formatSpread(s, 0) + " " + what + "/s" }

// formatNumber formats a number, with commas between groups of three digits.
func formatNumber(f float64, digits int) string {
	text := fmt.Sprintf("%.*f", digits, f)
	whole, rest, _ := strings.Cut(text, ".")
	for at := len(whole) - 3; at > 0 && whole[at-1] != '-'; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if rest != "" {
		return whole + "." + rest
	}
	return whole
}

// describeMachine describes the machine, the services and the load of other processes.
func (b *bench) describeMachine(ctx context.Context, noise series) []string {
	output := func(name string, args ...string) string {
		out, err := exec.CommandContext(ctx, name, args...).Output() //nolint:gosec // the callers name what is run
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(out))
	}
	commit := output("git", "rev-parse", "--short=12", "HEAD")
	if output("git", "status", "--porcelain") != "" {
		commit += " with changes"
	}
	return []string{
		fmt.Sprintf("machine: %s, %d processors, %s of memory, %s", processorModel(), runtime.NumCPU(), memorySize(), output("uname", "-sr")),
		fmt.Sprintf("commit: %s, %s", commit, runtime.Version()),
		"services: " + b.serviceVersions,
		fmt.Sprintf("other processes on this machine used %s of its %d processors during the run", formatSpread(noise, 2), runtime.NumCPU()),
		fmt.Sprintf("load average before and after (1, 5, 15 minutes): %s; %s", b.initialLoadAverage, loadAverage()),
	}
}

// describeData describes the imported data.
func (b *bench) describeData() string {
	return fmt.Sprintf("data: %s: %d rows, %d users, %d subjects; %d more users who only like", b.data.source, len(b.data.rows), b.users.viewerCount, len(b.users.subjectIndex), readerCount)
}

// othersCPU returns the number of processors that other processes used during each
// measurement.
func (b *bench) othersCPU() (out series) {
	for _, r := range b.measuredRows {
		for _, m := range r.measurements {
			out = append(out, m.processors[othersName]...)
		}
	}
	return out
}

func processorModel() string { return procField("/proc/cpuinfo", "model name") }

func memorySize() string {
	kb := strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB")
	var n float64
	if _, err := fmt.Sscan(kb, &n); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.0f GB", n/(1<<20))
}

// procField returns the value of the named field in a file below /proc, or GOARCH if the
// file cannot be read or has no such field.
func procField(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if of, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(of) == name {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// readVersions returns the versions of Postgres, Redis and RabbitMQ.
func (s *installation) readVersions(ctx context.Context) (string, error) {
	var database string
	if err := s.database.QueryRow(ctx, `SHOW server_version`).Scan(&database); err != nil {
		return "", fmt.Errorf("read the version of Postgres: %w", err)
	}
	var info string
	err := s.withRedis(func(client rueidis.Client) (err error) {
		info, err = client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the version of Redis: %w", err)
	}
	_, redis, _ := strings.Cut(info, "redis_version:")
	redis, _, _ = strings.Cut(redis, "\r")
	connection, err := amqp091.Dial(s.variables[rabbitmqURL])
	if err != nil {
		return "", fmt.Errorf("connect to RabbitMQ: %w", err)
	}
	defer func() { _ = connection.Close() }()
	return fmt.Sprintf("Postgres %s, Redis %s, RabbitMQ %v", database, redis, connection.Properties["version"]), nil
}
