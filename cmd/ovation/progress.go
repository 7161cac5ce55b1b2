package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"

	"ovation/importer"
)

// progress returns two functions for an import: told, which shows the progress, and done,
// which ends the display and may be called again. The progress is a line on a terminal, and
// elsewhere a log entry every 10 s. The parameter size is the size of the file in bytes, or 0 if unknown.
func progress(to io.Writer, size int64) (told func(importer.Progress), done func()) {
	begun, last := time.Now(), time.Time{}
	if file, is := to.(*os.File); is && isatty.IsTerminal(file.Fd()) {
		const every = 200 * time.Millisecond
		var latest importer.Progress
		show := func() {
			last = time.Now()
			sayf(to, "\r\x1b[K%s", progressLine(latest, size, last.Sub(begun))) // overwrites the line
		}
		return func(p importer.Progress) {
				if latest = p; time.Since(last) >= every {
					show()
				}
			}, sync.OnceFunc(func() {
				if !last.IsZero() { // something was told
					show()
					sayf(to, "\n")
				}
			})
	}
	const every = 10 * time.Second
	log := newLogger(to, slog.LevelInfo)
	last = begun
	return func(p importer.Progress) {
		if time.Since(last) >= every {
			last = time.Now()
			log.Info("importing", "rows", p.Rows, "bytes", p.Bytes, "of", size)
		}
	}, func() {}
}

// progressLine describes the progress of an import after a time. If the size of the file
// is unknown (0), it has neither a percentage nor the remaining time.
func progressLine(p importer.Progress, size int64, after time.Duration) string {
	rate := float64(p.Bytes) / max(after.Seconds(), 1e-3)
	line := fmt.Sprintf("%d rows, %.1f MB at %.1f MB/s", p.Rows, float64(p.Bytes)/1e6, rate/1e6)
	if size == 0 || p.Bytes == 0 {
		return line
	}
	left := time.Duration(float64(max(0, size-p.Bytes)) / rate * float64(time.Second))
	return fmt.Sprintf("%3.0f %% of %.1f MB, %s left: %s", 100*float64(p.Bytes)/float64(size), float64(size)/1e6, left.Round(time.Second), line)
}
