package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// testRows returns measured rows of a run that measured no more than these.
func testRows() []*row {
	measured := func(name string, rate, p50, p99 series) *measurement {
		m := newMeasurement(name)
		m.rate, m.p50, m.p99 = rate, p50, p99
		return m
	}
	return []*row{
		{key: "like-32", title: "like, closed loop, 32 connections", target: "≥ 80 % of the floor", result: "50 % of the floor", measurements: []*measurement{
			measured("Ovation", series{1000, 2000.4, 3000}, series{4, 5.004, 6}, series{10}), measured(floorLabel, series{4000}, series{2}, series{4}),
		}},
		{key: "page-8", title: "page of 20, closed loop, 8 connections", met: true, measurements: []*measurement{
			measured("Ovation", series{16000}, series{0.5}, series{2}), measured(floorLabel, series{20000}, series{0.4}, series{1}),
		}},
		{key: "import", title: "bulk import", measurements: []*measurement{measured("ovation import", series{123456}, nil, nil)}},
		{key: "follow", title: "follow, 32 connections", measurements: []*measurement{measured("follow", series{1}, series{1}, series{1})}},
	}
}

// The report begins with figures of Ovation alone, and a chart; the comparisons follow.
func TestReportBeginsWithAbsoluteFigures(t *testing.T) {
	folder := t.TempDir()
	b := &bench{options: options{report: filepath.Join(folder, "REPORT.md"), runPlan: quickRunPlan}, measuredRows: testRows(), data: new(dataset), users: new(userPool)}
	text := b.report(t.Context())
	at := 0
	for _, want := range []string{
		"# Benchmark\n", "## Figures\n", "![Requests a second](REPORT.svg)\n",
		"| pages of 20 subjects, 8 connections | 16,000 | 0.50 | 2.00 | `page-8` |\n",
		"| likes, 32 connections | 2,000 | 5.00 | 10.00 | `like-32` |\n",
		"| rows imported from a file | 123,456 | – | – | `import` |\n",
		"## Conditions\n", "## Targets\n", "50 % of the floor", "## Cost\n", "## Notes\n",
	} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("the report does not have %q after the rest:\n%s", want, text)
		}
		at += i
	}
	if err := b.writeChart(); err != nil {
		t.Fatal(err)
	}
	chart, err := os.ReadFile(filepath.Join(folder, "REPORT.svg"))
	if err != nil {
		t.Fatal(err)
	}
	words := wordsOf(t, string(chart))
	for _, want := range []string{"pages of 20 subjects, 8 connections", "16,000", "p50 0.50 ms", "likes, 32 connections", "2,000", "p50 5.00 ms"} {
		if !strings.Contains(words, want) {
			t.Errorf("the chart does not say %q:\n%s", want, words)
		}
	}
	if strings.Contains(words, "imported") {
		t.Error("the chart shows the import, which is no request")
	}
	// The longest bar is as wide as there is room, and the others in proportion.
	for name, want := range map[string]string{
		"pages": `<rect class="bar" x="330" y="44" width="224" height="18" rx="2"/>`, "floor of pages": `x1="610"`, "likes": `y="74" width="28"`, "floor of likes": `x1="386"`,
	} {
		if !strings.Contains(string(chart), want) {
			t.Errorf("%s: the chart does not have %s:\n%s", name, want, chart)
		}
	}

	b.measuredRows = b.measuredRows[2:] // no requests
	if text := b.report(t.Context()); strings.Contains(text, "REPORT.svg") || !strings.Contains(text, "rows imported") {
		t.Errorf("the report without requests shows a chart, or not its figures:\n%s", text)
	}
}

// wordsOf returns the text of an SVG image, which must be well-formed.
func wordsOf(t *testing.T, svg string) (words string) {
	t.Helper()
	for from := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := from.Token()
		if errors.Is(err, io.EOF) {
			return words
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, svg)
		}
		if text, is := token.(xml.CharData); is {
			words += string(text)
		}
	}
}

// rowsOfReport returns the rows of a report's table of costs, with medians.
func rowsOfReport(t *testing.T, text string) (out []*row) {
	t.Helper()
	number := func(cell string) series {
		median, _, _ := strings.Cut(strings.ReplaceAll(cell, ",", ""), " ")
		n, err := strconv.ParseFloat(median, 64)
		if err != nil {
			return nil // a dash
		}
		return series{n}
	}
	_, costs, _ := strings.Cut(text, "\n## Cost\n")
	costs, _, _ = strings.Cut(costs, "\n## Notes\n")
	byTitle := map[string]*row{}
	for _, cells := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|`).FindAllStringSubmatch(costs, -1) {
		for i := range rows {
			if rows[i].title != cells[1] {
				continue
			}
			r := byTitle[cells[1]]
			if r == nil {
				r = &row{key: rows[i].key, title: cells[1]}
				byTitle[cells[1]] = r
				out = append(out, r)
			}
			m := newMeasurement(cells[2])
			m.rate, m.p50, m.p99 = number(cells[3]), number(cells[4]), number(cells[5])
			r.measurements = append(r.measurements, m)
		}
	}
	return out
}

// The first section of REPORT.md and the chart show what its table of costs says. With
// OVATION_UPDATE set, the test writes them.
func TestReportAndChartAgree(t *testing.T) {
	text, err := os.ReadFile("REPORT.md")
	if err != nil {
		t.Fatal(err)
	}
	figures := figuresOf(rowsOfReport(t, string(text)))
	if len(figures) < 10 {
		t.Fatalf("got %d figures in the table of costs, want at least 10", len(figures))
	}
	processors := regexp.MustCompile(`, (\d+) processors,`).FindStringSubmatch(string(text))
	n, err := strconv.Atoi(processors[1])
	if err != nil {
		t.Fatal(err)
	}
	section, chart := figuresTable(figures, "REPORT.svg", n), drawChart(figures)
	if os.Getenv("OVATION_UPDATE") != "" {
		before, rest, _ := strings.Cut(string(text), "## Figures\n")
		_, rest, _ = strings.Cut(rest, "## Conditions\n")
		for path, content := range map[string]string{"REPORT.md": before + section + "## Conditions\n" + rest, "REPORT.svg": chart} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	drawn, err := os.ReadFile("REPORT.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), section) || string(drawn) != chart {
		t.Errorf("REPORT.md or REPORT.svg does not show what the table of costs says, want\n%s\n%s", section, chart)
	}
}
