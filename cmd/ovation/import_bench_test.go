package main

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/must"
)

// deskdropCopies is the number of copies of the real data, each with different users,
// that make up a million rows.
const deskdropCopies = 14

// repeatedDeskdrop writes deskdropCopies copies of the real data to a file. It returns
// the path of the file and the number of its rows.
func repeatedDeskdrop(tb testing.TB) (file string, rows int) {
	tb.Helper()
	needDeskdrop(tb)
	packed, err := zip.OpenReader(deskdrop)
	must.Succeed(tb, err)
	defer packed.Close()
	first, err := packed.File[0].Open()
	must.Succeed(tb, err)
	defer first.Close()
	lines, err := csv.NewReader(first).ReadAll()
	must.Succeed(tb, err)

	file = filepath.Join(tb.TempDir(), "repeated.csv")
	out, err := os.Create(file)
	must.Succeed(tb, err)
	defer out.Close()
	buffer := bufio.NewWriterSize(out, 1<<20)
	w := csv.NewWriter(buffer)
	must.Succeed(tb, w.Write(lines[0]))
	const user = 3
	if lines[0][user] != "personId" {
		tb.Fatalf("the columns are %v, want personId in column %d", lines[0], user)
	}
	for copied := range deskdropCopies {
		for _, line := range lines[1:] {
			id := line[user]
			line[user] = strconv.Itoa(copied) + id
			must.Succeed(tb, w.Write(line))
			line[user] = id
		}
	}
	w.Flush()
	must.Succeed(tb, w.Error())
	must.Succeed(tb, buffer.Flush())
	return file, deskdropCopies * (len(lines) - 1)
}

var imported = regexp.MustCompile(`rows +\d+ in ([0-9.]+) s`)

// BenchmarkImport imports a million rows of real data with the built command,
// and checks that every count is right.
func BenchmarkImport(b *testing.B) {
	file, rows := repeatedDeskdrop(b)
	b.Run("sqlite", func(b *testing.B) {
		best := 0.0
		for b.Loop() {
			data := b.TempDir()
			best = max(best, importInto(b, file, rows, "OVATION_IMPORT_MAP=deskdrop", "OVATION_DATA="+data))
			if got, want := sums(b, data, "biz = 'article'"), [5]int64{61086 * deskdropCopies, 5670 * deskdropCopies, 0, 2202 * deskdropCopies, 1398 * deskdropCopies}; got != want {
				b.Errorf("there are %v reads, likes, dislikes and collects, want %v", got, want)
			}
		}
		b.ReportMetric(best, "rows/s-at-best")
	})
	for _, name := range []string{"postgres", "postgres and redis"} {
		b.Run(name, func(b *testing.B) {
			best := 0.0
			for b.Loop() {
				s := newSite(b)
				environment := []string{"OVATION_IMPORT_MAP=deskdrop", "OVATION_PREFIX=" + s.prefix, "OVATION_POSTGRES_URL=" + s.variables["OVATION_POSTGRES_URL"]}
				if strings.Contains(name, "redis") {
					environment = append(environment, "OVATION_REDIS_URL="+s.variables["OVATION_REDIS_URL"])
				}
				best = max(best, importInto(b, file, rows, environment...))
				want := [3]int64{61086 * deskdropCopies, 5670 * deskdropCopies, 2202 * deskdropCopies}
				if got := s.totals(b); got != want {
					b.Errorf("there are %v reads, likes and collects, want %v", got, want)
				}
			}
			b.ReportMetric(best, "rows/s-at-best")
		})
	}
}

// The sizes of a click log that is modelled on a month of clicks on a news site. The rows
// are in chronological order. Most users have only a few rows, so that the keys of
// consecutive rows are random.
const (
	clickRows     = 3_000_000
	clickUsers    = 322_897
	clickArticles = 46_033
)

// clicks writes a click log and returns the path of its file.
func clicks(tb testing.TB) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "clicks.tsv")
	out, err := os.Create(file)
	must.Succeed(tb, err)
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	articles := rand.NewZipf(random, 1.07, 20, clickArticles-1)
	fmt.Fprintln(w, "user_id\tclick_article_id\tclick_timestamp")
	at := int64(1506826800000)
	for range clickRows {
		at += random.Int64N(1000)
		fmt.Fprintf(w, "%d\t%d\t%d\n", random.IntN(clickUsers), articles.Uint64(), at)
	}
	must.Succeed(tb, w.Flush())
	return file
}

// BenchmarkImportClicks imports a click log with the built command, and checks that
// every read is counted.
func BenchmarkImportClicks(b *testing.B) {
	file := clicks(b)
	flags := []string{
		"OVATION_IMPORT_BIZ=article", "OVATION_IMPORT_ALL=read", "OVATION_IMPORT_USER=user_id",
		"OVATION_IMPORT_SUBJECT=click_article_id", "OVATION_IMPORT_TIME=click_timestamp", "OVATION_IMPORT_TIME_UNIT=ms",
	}
	b.Run("sqlite", func(b *testing.B) {
		best := 0.0
		for b.Loop() {
			data := b.TempDir()
			best = max(best, importInto(b, file, clickRows, append(flags, "OVATION_DATA="+data)...))
			if got := sums(b, data, "biz = 'article'"); got != [5]int64{clickRows} {
				b.Errorf("there are %v reads, likes, dislikes and collects, want %d reads alone", got, clickRows)
			}
		}
		b.ReportMetric(best, "rows/s-at-best")
	})
	b.Run("postgres", func(b *testing.B) {
		best := 0.0
		for b.Loop() {
			s := newSite(b)
			best = max(best, importInto(b, file, clickRows, append(flags, "OVATION_POSTGRES_URL="+s.variables["OVATION_POSTGRES_URL"])...))
			if got := s.totals(b); got != [3]int64{clickRows} {
				b.Errorf("there are %v reads, likes and collects, want %d reads alone", got, clickRows)
			}
		}
		b.ReportMetric(best, "rows/s-at-best")
	})
}

// importInto imports the file into the store that the environment names, verifies the
// store, and returns how many rows were imported per second.
func importInto(b *testing.B, file string, rows int, environment ...string) float64 {
	b.Helper()
	ovation := func(args ...string) string {
		command := exec.Command(binary, args...)
		command.Env = environment
		out, err := command.CombinedOutput()
		if err != nil {
			b.Fatalf("ovation %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	load, err := os.ReadFile("/proc/loadavg")
	must.Succeed(b, err)
	said := ovation("import", file)
	b.Logf("load before %s%s", load, said)
	took := imported.FindStringSubmatch(said)
	if took == nil {
		b.Fatalf("import does not print how long it took: %s", said)
	}
	seconds, err := strconv.ParseFloat(took[1], 64)
	must.Succeed(b, err)
	b.StopTimer()
	if said := ovation("verify"); !strings.HasPrefix(said, "0 differences; ") {
		b.Errorf("verify printed %s, want 0 differences", said)
	}
	b.StartTimer()
	return float64(rows) / seconds
}

// totals returns the total numbers of reads, likes and collects of all subjects.
func (s *site) totals(tb testing.TB) (totals [3]int64) {
	tb.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.variables["OVATION_POSTGRES_URL"])
	must.Succeed(tb, err)
	defer c.Close(ctx)
	must.Succeed(tb, c.QueryRow(ctx, `SELECT coalesce(sum(read_count), 0)::bigint, coalesce(sum(like_count), 0)::bigint,
		coalesce(sum(collect_count), 0)::bigint FROM interactive`).Scan(&totals[0], &totals[1], &totals[2]))
	return totals
}
