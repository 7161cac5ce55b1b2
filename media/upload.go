package media

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"ovation/api/codes"
	"ovation/api/quota"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/storage"
)

const (
	maxFields     = 10                   // of a form, not counting the file
	maxFieldBytes = viewer.MaxTokenBytes // of a field, which may be a token
	maxFormBytes  = 1 << 20              // of a form, not counting the bytes of the file
)

// Form is the content of an upload.
type Form struct {
	File   *File // nil if absent
	Values map[string]string
}

// ReadForm receives a multipart form as a stream: one file, in the given field, and text
// fields before or after it. If admit is not nil, it is called before the file is read,
// with the text fields that precede the file. If admit returns an error, the upload is
// rejected. ReadForm stores the file; the caller must publish or discard it. Each
// rate.UploadBytesPerUnit bytes of the body cost one unit, charged to the rate.Payer of
// the request as they are received. Errors:
// storage.ErrInvalid, ErrTooLarge, ErrSlow, storage.ErrUnavailable, and errors from admit
// and from the connection.
func (s *Service) ReadForm(w http.ResponseWriter, r *http.Request, field string, admit func(values map[string]string) error) (*Form, error) {
	form := new(Form)
	values, err := readForm(w, r, s.MaxBytes, field, func(values map[string]string, part *multipart.Part) (err error) { //nolint:contextcheck // it is the request's
		if form.File != nil {
			return &storage.InvalidError{Field: field, Reason: "must be one file"}
		}
		if admit != nil {
			if err := admit(values); err != nil {
				return err
			}
		}
		if form.File, err = s.StoreFile(r.Context(), part); err != nil {
			return broken(err)
		}
		return nil
	})
	if err != nil {
		if form.File != nil {
			s.Discard(r.Context(), form.File)
		}
		return nil, err
	}
	form.Values = values
	return form, nil
}

// readForm receives a multipart form as a stream and returns its text fields. It calls
// file for each part with the name field, with the text fields that precede it. Errors:
// those of ReadForm, and errors from file.
func readForm(w http.ResponseWriter, r *http.Request, maxBytes int64, field string, file func(map[string]string, *multipart.Part) error) (map[string]string, error) {
	if r.ContentLength > maxBytes+maxFormBytes {
		return nil, ErrTooLarge
	}
	r.Body = http.MaxBytesReader(w, &meteredBody{r.Body, rate.NewMeter(rate.FromContext(r.Context()), rate.UploadBytesPerUnit)}, maxBytes+maxFormBytes)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, &storage.InvalidError{Field: "body", Reason: "must be multipart/form-data"}
	}
	values := map[string]string{}
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		switch {
		case err == io.EOF: //nolint:errorlint // a form that ends early wraps it
			return values, nil
		case err != nil:
			return nil, broken(err)
		case n > maxFields:
			return nil, &storage.InvalidError{Field: "body", Reason: fmt.Sprintf("must have at most %d fields", maxFields)}
		}
		if part.FormName() != field {
			err = readText(part, values)
		} else {
			err = file(values, part)
		}
		if err != nil {
			return nil, err
		}
	}
}

// meteredBody is a request body whose bytes are charged to a payer.
type meteredBody struct {
	io.ReadCloser

	meter rate.Meter
}

func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.meter.Add(n)
	return n, err
}

// CheckFields checks the title and the request id of an upload, if they are among the
// fields received so far. The name of the request id's field is given. Errors:
// storage.ErrInvalid.
func CheckFields(received map[string]string, requestID string) error {
	if title, is := received["title"]; is {
		if _, err := storage.CleanText("title", title, storage.MaxTitleRunes); err != nil {
			return err
		}
	}
	return storage.ValidateRequestID(received[requestID])
}

// readText adds a text field to values. Of several fields with the same name, the first
// counts.
func readText(part *multipart.Part, values map[string]string) error {
	text, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
	if err != nil {
		return broken(err)
	}
	name := part.FormName()
	if len(text) > maxFieldBytes {
		return &storage.InvalidError{Field: strconv.QuoteToASCII(name[:min(len(name), 32)]), Reason: fmt.Sprintf("must have at most %d bytes", maxFieldBytes)}
	}
	if _, known := values[name]; !known {
		values[name] = string(text)
	}
	return nil
}

// errBroken is returned for a body that is truncated or not a form.
var errBroken = &storage.InvalidError{Field: "body", Reason: "ends early, or is not multipart/form-data"}

// broken converts an error that occurred while a form was read.
func broken(err error) error {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		return ErrTooLarge
	case errors.Is(err, ErrSlow):
		return ErrSlow
	case errors.Is(err, ErrTooLarge), errors.Is(err, storage.ErrInvalid), errors.Is(err, storage.ErrUnavailable), errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}

// Uploads returns a handler that receives a video from the viewer by POST. The body is a
// multipart form with the fields file, title and, for safe retries, requestId. The
// response is a JSON object with the video, or errors in GraphQL's format. A request costs
// rate.PerUpload and its bytes.
func (s *Service) Uploads() http.Handler { return s.WithMinRate(http.HandlerFunc(s.upload)) }

// WithMinRate is like the function WithMinRate, but the minimum rate of request bodies
// rises up to eightfold when places for uploads become scarce.
func (s *Service) WithMinRate(next http.Handler) http.Handler {
	return withMinRate(next, speed{sendGrace, s.uploadPlaces.minRate}, speed{receiveGrace, minimum})
}

func (s *Service) upload(w http.ResponseWriter, r *http.Request) {
	v, err := s.receive(w, r)
	if err != nil {
		s.answerError(w, r, err, videos)
		return
	}
	s.Count("published")
	answer(w, http.StatusCreated, map[string]any{"video": map[string]any{
		"id": v.ID(), "videoId": v.VideoID(), "title": v.Title, "playUrl": v.PlayURL(), "coverUrl": v.CoverURL(),
		"at": v.At().Format(time.RFC3339Nano),
	}})
}

// Errors of uploads that the client can avoid.
var (
	errNotSignedIn = errors.New("this needs a signed-in user: send a token as `Authorization: Bearer …`")
	errNoFile      = &storage.InvalidError{Field: "file", Reason: "is missing"}
)

// rateError is returned to a client whose bucket holds too little, with the time until it
// holds enough.
type rateError time.Duration

func (rateError) Error() string { return "rate limit exceeded" }

func (s *Service) receive(w http.ResponseWriter, r *http.Request) (*storage.Video, error) {
	me := viewer.FromContext(r.Context())
	if me.Anonymous() {
		return nil, errNotSignedIn
	}
	if wait := rate.FromContext(r.Context()).Take(rate.PerUpload); wait > 0 {
		return nil, rateError(wait)
	}
	end, err := s.Reserve(quota.Owner{User: me, Address: rate.FromContext(r.Context()).Address()})
	if err != nil {
		return nil, err
	}
	defer end()
	form, err := s.ReadForm(w, r, "file", func(received map[string]string) error { return CheckFields(received, "requestId") })
	if err != nil {
		return nil, err
	}
	if form.File == nil {
		return nil, errNoFile
	}
	return s.Publish(r.Context(), me, form.Values["title"], form.Values["requestId"], form.File)
}

// uploadKind is a kind of files that clients upload.
type uploadKind struct {
	what    string // in messages
	limited string // the message for too many files of a user
	unknown string // the message if it is not known whether the upload has succeeded
}

var (
	videos   = uploadKind{"video", "too many videos published", "the video may or may not have been published; try again with the same requestId"}
	pictures = uploadKind{"picture", "too many pictures uploaded", "the picture may or may not have been stored; try again"}
)

// maxBytes is the maximum size of a file of this kind, in bytes.
func (s *Service) maxBytes(of uploadKind) int64 {
	if of == pictures {
		return MaxAvatarBytes
	}
	return s.MaxBytes
}

// answerError responds with an error, and logs it unless it is the client's fault.
func (s *Service) answerError(w http.ResponseWriter, r *http.Request, err error, of uploadKind) {
	status, code, message := http.StatusInternalServerError, codes.Internal, "internal error; the server's log has the cause"
	limited, isLimited := errors.AsType[*LimitedError](err)
	wait, waits := errors.AsType[rateError](err)
	switch invalid, is := errors.AsType[*storage.InvalidError](err); {
	case isLimited:
		status, code, message = http.StatusTooManyRequests, codes.RateLimited, of.limited+"; "+rate.Error(limited.Wait).Message
		w.Header().Set("Retry-After", retryAfter(limited.Wait))
	case waits:
		status, code, message = http.StatusTooManyRequests, codes.RateLimited, rate.Error(time.Duration(wait)).Message
		w.Header().Set("Retry-After", retryAfter(time.Duration(wait)))
	case is:
		status, code, message = http.StatusBadRequest, codes.BadUserInput, invalid.Error()
		if invalid == errNoVideo || invalid == errNoPicture || invalid == errBadImage {
			status = http.StatusUnsupportedMediaType
		}
	case errors.Is(err, errNotSignedIn):
		status, code, message = http.StatusUnauthorized, codes.Unauthenticated, err.Error()
		w.Header().Set("WWW-Authenticate", "Bearer")
	case errors.Is(err, ErrTooLarge):
		status, code, message = http.StatusRequestEntityTooLarge, codes.LimitExceeded, fmt.Sprintf("the %s is too large; at most %d MiB are allowed", of.what, s.maxBytes(of)>>20)
	case errors.Is(err, ErrNoAccounts):
		status, code, message = http.StatusNotFound, codes.NotFound, ErrNoAccounts.Error()
	case errors.Is(err, ErrNoAccount):
		status, code, message = http.StatusNotFound, codes.NotFound, ErrNoAccount.Error()
	case errors.Is(err, ErrSlow):
		status, code, message = http.StatusRequestTimeout, codes.LimitExceeded, "the upload is too slow"
	case errors.Is(err, ErrBusy):
		status, code, message = http.StatusTooManyRequests, codes.RateLimited, "too many uploads are in progress; try again"
		w.Header().Set("Retry-After", retryAfter(busyTime))
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		status, code, message = http.StatusBadRequest, codes.BadUserInput, errBroken.Error() // the client has disconnected
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		status, code, message = http.StatusServiceUnavailable, codes.Unavailable, "the service is temporarily unavailable, and "+of.unknown
	}
	if status >= http.StatusInternalServerError {
		s.Logger.Error("upload failed", "code", code, "error", err)
	}
	if of == pictures {
		s.avatars.WithLabelValues(code).Inc()
	} else {
		s.Count(code)
	}
	w.Header().Set("Connection", "close") // the rest of the body is not read
	answer(w, status, map[string]any{"errors": []any{
		map[string]any{"message": message, "extensions": map[string]any{"code": code}},
	}})
}

func answer(w http.ResponseWriter, status int, value any) {
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) //nolint:errchkjson // the client may have left
}
