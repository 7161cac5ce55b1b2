package media

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ovation/outage"
	"ovation/storage"
)

// types holds the content types of files, by folder and file extension.
var types = map[string]map[string]string{
	"videos": {"mp4": "video/mp4", "webm": "video/webm", "mov": "video/quicktime"},
	"covers": {"jpg": "image/jpeg"},
}

// policy is the Content-Security-Policy for files: a browser that navigates to a file may
// only show it.
const policy = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox"

// Files returns a handler that serves the files below storage.MediaPath, by GET and HEAD,
// whole or in ranges. The content at a path never changes. The handler responds to other
// paths with 404; there are no listings.
func Files(blobs *Blobs, logger *slog.Logger) http.Handler {
	f := &files{blobs, outage.New(logger, "files of videos cannot be served", "files of videos are served again")}
	return WithMinRate(f)
}

type files struct {
	blobs  *Blobs
	outage *outage.Log
}

func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Resource-Policy", "cross-origin") // pages of other sites may embed the files
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed)
		return
	}
	key := strings.TrimPrefix(r.URL.Path, storage.MediaPath)
	folder, name, _ := strings.Cut(key, "/")
	if folder == "placeholders" {
		f.placeholder(w, r, name)
		return
	}
	stem, ending, _ := strings.Cut(name, ".")
	contentType := types[folder][ending]
	if contentType == "" || storage.ValidateFile(stem) != nil {
		refuse(w, http.StatusNotFound)
		return
	}
	of, err := f.blobs.open(r.Context(), key)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		refuse(w, http.StatusNotFound)
		return
	case err != nil && r.Context().Err() == nil:
		f.outage.Failed("error", err)
		fallthrough
	case err != nil:
		refuse(w, http.StatusServiceUnavailable)
		return
	}
	defer of.close()
	f.outage.Worked()
	serve(w, r, contentType, strconv.Quote(stem), of.change, of)
}

func (f *files) placeholder(w http.ResponseWriter, r *http.Request, name string) {
	number, is := strings.CutSuffix(name, ".png")
	n, err := strconv.ParseUint(number, 10, 8)
	if !is || err != nil || n >= storage.Placeholders || strconv.FormatUint(n, 10) != number {
		refuse(w, http.StatusNotFound)
		return
	}
	serve(w, r, "image/png", fmt.Sprintf(`"placeholder-1-%d"`, n), time.Time{}, bytes.NewReader(placeholder(int(n))))
}

func serve(w http.ResponseWriter, r *http.Request, contentType, tag string, change time.Time, content io.ReadSeeker) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("ETag", tag)
	http.ServeContent(w, r, "", change, content)
}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, http.StatusText(status), status)
}
