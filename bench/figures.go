package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// figureRows lists the rows with which the report begins, by key, and what their first
// measurement counts.
var figureRows = []struct{ key, counts string }{
	{"page-8", "pages of 20 subjects, 8 connections"},
	{"page-32", "pages of 20 subjects, 32 connections"},
	{"page-128", "pages of 20 subjects, 128 connections"},
	{"mixed-32", "pages with 10 % likes, 32 connections"},
	{"like-8", "likes, 8 connections"},
	{"like-32", "likes, 32 connections"},
	{"like-128", "likes, 128 connections"},
	{"comment", "comments, 32 connections"},
	{"comments", "pages of 20 comments, 32 connections"},
	{"live", "subscribers of one subject, all told of a like"},
	{"worker", "queued actions written to Postgres"},
	{"import", "rows imported from a file"},
}

// figure is a figure of Ovation alone. p50 and p99 are 0 if they were not measured, and so
// is rate. floor is the rate of the floor, or 0.
type figure struct {
	key, counts           string
	rate, floor, p50, p99 float64
}

// figuresOf returns the figures of the measured rows, rounded as the report shows them.
func figuresOf(rows []*row) (out []figure) {
	for _, f := range figureRows {
		for _, r := range rows {
			if r.key != f.key || len(r.measurements) == 0 {
				continue
			}
			m := r.measurements[0]
			one := figure{key: f.key, counts: f.counts, rate: math.Round(m.rate.median()), p50: hundredths(m.p50.median()), p99: hundredths(m.p99.median())}
			if len(r.measurements) == 2 && r.measurements[1].name == floorLabel {
				one.floor = math.Round(r.measurements[1].rate.median())
			}
			out = append(out, one)
		}
	}
	return out
}

// floorLabel is the name of the floor in the report.
const floorLabel = "the floor"

// hundredths rounds a number to two digits after the point, as the report shows it.
func hundredths(f float64) float64 { return math.Round(f*100) / 100 }

// figuresTable returns the first section of the report. The name of the chart's file is
// empty if there is no chart.
func figuresTable(all []figure, chart string, processors int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "## Figures\n\nMedians on %d processors, which the services and the generator of the load use, too. "+
		"The command of each figure is `make bench BENCH_FLAGS='-only ROW'`, with its row.\n\n", processors)
	if chart != "" {
		fmt.Fprintf(&out, "![Requests a second](%s)\n\n", chart)
	}
	out.WriteString("| what | a second | p50 ms | p99 ms | row |\n|---|---|---|---|---|\n")
	for _, f := range all {
		fmt.Fprintf(&out, "| %s | %s | %s | %s | `%s` |\n", f.counts, orDash(f.rate, 0), orDash(f.p50, 2), orDash(f.p99, 2), f.key)
	}
	return out.String() + "\n"
}

// orDash formats a number, or a dash if it is 0.
func orDash(f float64, digits int) string {
	if f == 0 {
		return "–"
	}
	return formatNumber(f, digits)
}

// The measures of the chart, in pixels.
const (
	chartWidth, chartBar, chartGap = 760, 18, 12
	chartLeft, chartRight          = 330, 150 // of the bars: the names, the figures
	chartTop, chartBottom          = 44, 34
)

// drawChart draws the rates of requests as bars, in an SVG image. The mark in a bar is the
// rate of the floor. It returns "" if no requests were measured.
func drawChart(all []figure) string {
	var bars []figure
	most := 0.0
	for _, f := range all {
		if f.rate > 0 && f.p50 > 0 {
			bars, most = append(bars, f), max(most, f.rate, f.floor)
		}
	}
	if len(bars) == 0 {
		return ""
	}
	height := chartTop + len(bars)*(chartBar+chartGap) + chartBottom
	scale := func(rate float64) int { return int(math.Round(rate / most * (chartWidth - chartLeft - chartRight))) }
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">
<title id="title">Requests a second of Ovation, and of the floor</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.note { fill: #59636e; font-size: 12px }
.bar { fill: #2f6f5e }
.floor { stroke: #b3541e; stroke-width: 3 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.note { fill: #9198a1 }
.bar { fill: #4fae95 }
.floor { stroke: #f0934e }
}
</style>
<text class="title" x="0" y="18">Requests a second</text>
`, chartWidth, height, chartWidth, height)
	for i, f := range bars {
		y := chartTop + i*(chartBar+chartGap)
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", chartLeft-10, y+chartBar-4, f.counts)
		fmt.Fprintf(&out, `<rect class="bar" x="%d" y="%d" width="%d" height="%d" rx="2"/>`+"\n", chartLeft, y, scale(f.rate), chartBar)
		if f.floor > 0 {
			x := chartLeft + scale(f.floor)
			fmt.Fprintf(&out, `<line class="floor" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", x, y-2, x, y+chartBar+2)
		}
		fmt.Fprintf(&out, `<text x="%d" y="%d">%s <tspan class="note">p50 %s ms</tspan></text>`+"\n",
			chartLeft+scale(max(f.rate, f.floor))+8, y+chartBar-4, formatNumber(f.rate, 0), formatNumber(f.p50, 2))
	}
	fmt.Fprintf(&out, `<text class="note" x="0" y="%d">The mark is the floor: a minimal server that answers the same requests, without Ovation's promises.</text>`+"\n</svg>\n", height-8)
	return out.String()
}

// chartFile returns the path of the chart of a report, or "" if the report is not written
// to a file.
func chartFile(report string) string {
	if report == "" {
		return ""
	}
	return strings.TrimSuffix(report, filepath.Ext(report)) + ".svg"
}

// writeChart writes the chart next to the report, if there is one.
func (b *bench) writeChart() error {
	chart := drawChart(figuresOf(b.measuredRows))
	if b.options.report == "" || chart == "" {
		return nil
	}
	return os.WriteFile(chartFile(b.options.report), []byte(chart), 0o644) //nolint:gosec // a public report
}
