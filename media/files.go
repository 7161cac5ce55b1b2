package media

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ovation/api/quota"
	"ovation/api/rate"
	"ovation/internal/outage"
	"ovation/storage"
)

// types holds the content types of files, by folder and file extension.
var types = map[string]map[string]string{
	"videos": {"mp4": "video/mp4", "webm": "video/webm", "mov": "video/quicktime"},
	"covers": {"jpg": "image/jpeg"}, "avatars": {"jpg": "image/jpeg"},
}

// policy is the Content-Security-Policy for files: a browser that navigates to a file may
// only show it.
const policy = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox"

const (
	// maxDownloads is the maximum number of concurrent downloads of a node. Once more than
	// freeDownloads are in progress, one address (for IPv6, a /64) may have
	// maxDownloadsOfAddress of them, and a /48 maxDownloadsOfSite. An address may be that of
	// many viewers.
	maxDownloads, freeDownloads               = 2048, 1024
	maxDownloadsOfAddress, maxDownloadsOfSite = 100, 400
	// busyTime is when a client should try again that is refused for lack of places.
	busyTime = 10 * time.Second
)

// Files returns a handler that serves the files below storage.MediaPath, by GET and HEAD,
// whole or in one range; a request for several ranges is answered with the whole file.
// The content at a path never changes. The handler responds to other paths with 404;
// there are no listings.
//
// A request that needs the blob store costs rate.PerDownload, and each
// rate.DownloadBytesPerUnit bytes of a file one unit more, charged to the rate.Payer of
// the request. Beyond that or the numbers of concurrent downloads, the response is 429.
// Clients that receive slower than the minimum rate are disconnected.
func Files(blobs *Blobs, logger *slog.Logger) http.Handler {
	f := newFiles(blobs, logger)
	return withMinRate(f, speed{sendGrace, minimum}, speed{receiveGrace, f.places.minRate})
}

func newFiles(blobs *Blobs, logger *slog.Logger) *files {
	return &files{
		blobs:  blobs,
		outage: outage.New(logger, "files cannot be served from the blob store", "files are served again from the blob store"),
		places: newPlaces(quota.Shares{
			Total: maxDownloads, Visitors: maxDownloadsOfAddress, Address: maxDownloadsOfSite, Anonymous: maxDownloads, Free: freeDownloads,
		}),
	}
}

type files struct {
	blobs  *Blobs
	outage *outage.Log
	places places
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
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range") // RFC 9110, 14.2: a server may ignore it
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
	payer := rate.FromContext(r.Context())
	if wait := payer.Take(rate.PerDownload); wait > 0 {
		refuseFor(w, http.StatusTooManyRequests, wait)
		return
	}
	release, ok := f.places.take(quota.Owner{Address: payer.Address()})
	if !ok {
		refuseFor(w, http.StatusTooManyRequests, busyTime)
		return
	}
	defer release()
	f.download(w, r, key, contentType, strconv.Quote(stem))
}

// download serves a file from the blob store.
func (f *files) download(w http.ResponseWriter, r *http.Request, key, contentType, tag string) {
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
	serve(w, r, contentType, tag, of.change, of)
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

// refuseFor refuses a request that may succeed after the given time.
func refuseFor(w http.ResponseWriter, status int, wait time.Duration) {
	w.Header().Set("Retry-After", retryAfter(wait))
	refuse(w, status)
}

func retryAfter(wait time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))
}
