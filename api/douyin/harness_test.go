package douyin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ovation/accounts"
	"ovation/api/douyin"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/internal/testing/openapitest"
	"ovation/internal/testing/sqlitetest"
	"ovation/loaders"
	"ovation/media"
	"ovation/resolvers/transport"
	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "a secret of at least thirty-two bytes"

// service is the API with all other parts of an embedded service.
type service struct {
	url    string
	store  storage.Store
	folder string // of files
	log    *lockedBuffer
}

// settings determine the parts of a service.
type settings struct {
	face  func(*douyin.Config)
	rates rate.Config
}

func start(t *testing.T, options ...func(*settings)) *service {
	t.Helper()
	set := settings{face: func(*douyin.Config) {}}
	for _, o := range options {
		o(&set)
	}
	s := &service{store: sqlitetest.Open(t), log: new(lockedBuffer), folder: t.TempDir()}
	logger := slog.New(slog.NewJSONHandler(s.log, nil))
	queue, mirror := local.NewQueue(local.Options{}), local.Mirror{Reader: s.store}
	recorder := worker.NewRecorder(queue, mirror, worker.RecorderOptions{Logger: logger})
	w := worker.New(queue, s.store, mirror, worker.Options{Logger: logger})
	ctx, stop := context.WithCancel(context.Background())
	worked := make(chan error, 1)
	go func() { worked <- w.Run(ctx) }()
	comments := worker.NewComments(s.store, worker.CommentsOptions{Changed: func([]storage.Subject) {}, Logger: logger})
	messages := worker.NewMessages(s.store, worker.MessagesOptions{Changed: func([]storage.Subject) {}, Logger: logger})
	sessions := viewer.NewSessions()
	own, err := accounts.New(t.Context(), accounts.Config{
		Store: s.store, Signer: &viewer.Signer{Secret: []byte(secret), TTL: time.Hour}, Sessions: sessions, Logger: logger,
		Params: accounts.Params{Memory: 64, Time: 1, Threads: 1}, AttemptsPerAddress: 30,
	})
	must.Succeed(t, err)
	auth, err := viewer.New(t.Context(), viewer.Config{Secret: []byte(secret), Sessions: sessions, DevHeaders: viewer.LocalDevHeaders})
	must.Succeed(t, err)
	at, err := media.FolderURL(s.folder)
	must.Succeed(t, err)
	blobs, err := media.OpenBlobs(t.Context(), at, s.store)
	must.Succeed(t, err)
	videos := media.New(media.Config{Store: s.store, Blobs: blobs, MaxBytes: 1 << 20, Logger: logger})

	cfg := douyin.Config{Source: s.store, Recorder: recorder, Comments: comments, Messages: messages, Accounts: own, Videos: videos}
	set.face(&cfg)
	set.rates.Logger = logger
	mux := http.NewServeMux()
	mux.Handle(douyin.Path, douyin.New(cfg, transport.Config{Auth: auth, Logger: logger, AccessLog: true, Limiter: rate.New(set.rates)}))
	mux.Handle(storage.MediaPath, media.Files(blobs, logger))
	server := httptest.NewServer(mux)
	s.url = server.URL
	t.Cleanup(func() {
		server.Close()
		videos.Close()
		ctx := context.Background()
		for _, end := range []func(context.Context) error{recorder.Close, comments.Close, messages.Close} {
			must.Succeed(t, end(ctx))
		}
		stop()
		must.Succeed(t, <-worked)
		must.Succeed(t, queue.Close())
		own.Close()
		must.Succeed(t, auth.Close())
		blobs.Close()
		must.Succeed(t, s.store.Close())
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// over wraps the store in a source that the test provides.
func over(wrap func(loaders.Source) loaders.Source) func(*settings) {
	return func(s *settings) {
		s.face = func(c *douyin.Config) { c.Source = wrap(c.Source) }
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (s *service) logged() string {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.String()
}

// object is a reply.
type object = map[string]any

// way is how a client sends parameters.
type way func(r *http.Request, parameters url.Values)

func inURL(r *http.Request, parameters url.Values) { r.URL.RawQuery = parameters.Encode() }

func inForm(r *http.Request, parameters url.Values) {
	text := parameters.Encode()
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
}

func inParts(r *http.Request, parameters url.Values) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range parameters {
		for _, value := range values {
			_ = w.WriteField(name, value) // a buffer does not fail
		}
	}
	_ = w.Close()
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Body, r.ContentLength = io.NopCloser(&body), int64(body.Len())
}

func inBoth(r *http.Request, parameters url.Values) {
	inURL(r, parameters)
	inForm(r, parameters)
}

// values returns parameters. pairs holds names and values alternately; values may have
// any type.
func values(pairs ...any) url.Values {
	out := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		out.Add(pairs[i].(string), fmt.Sprint(pairs[i+1]))
	}
	return out
}

// fitsDocument checks that the OpenAPI document describes a reply of the path. A path that
// is not an endpoint has a status alone.
func fitsDocument(t *testing.T, path string, text []byte) {
	t.Helper()
	document, err := openapitest.Load()
	must.Succeed(t, err)
	path = strings.TrimSuffix(path, "/") + "/"
	err = document.Check("#/components/schemas/StatusReply", text)
	for method := range document.Paths[path] { // of another method, a reply has the same fields
		err = document.CheckReply(method, path, http.StatusOK, text)
	}
	if err != nil {
		t.Errorf("%s: the document does not describe %s: %v", path, text, err)
	}
}

// send sends a request and returns its reply, which must be a JSON object with status
// 200, as the OpenAPI document describes it.
func (s *service) send(t *testing.T, method, path string, by way, parameters url.Values, headers ...string) object {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+"/douyin/"+path, nil)
	must.Succeed(t, err)
	by(r, parameters)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return s.do(t, r)
}

func (s *service) do(t *testing.T, r *http.Request) object {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer func() { must.Succeed(t, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	must.Succeed(t, err)
	out := object{}
	if err := json.Unmarshal(text, &out); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: got status %d, %s, want 200, JSON", r.Method, r.URL, response.StatusCode, text)
	}
	fitsDocument(t, r.URL.Path, text)
	header := response.Header
	if header.Get("Content-Type") != "application/json; charset=utf-8" || header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: got the headers %v, want JSON in UTF-8, no-store and nosniff", r.URL, header)
	}
	if bytes.ContainsAny(text, "<>") {
		t.Errorf("%s: got %s, want no < or >, which could be taken for HTML", r.URL, text)
	}
	return out
}

func (s *service) get(t *testing.T, path string, pairs ...any) object {
	t.Helper()
	return s.send(t, http.MethodGet, path, inURL, values(pairs...))
}

func (s *service) post(t *testing.T, path string, pairs ...any) object {
	t.Helper()
	return s.send(t, http.MethodPost, path, inForm, values(pairs...))
}

// ok returns a reply, which must not be an error.
func ok(t *testing.T, reply object) object {
	t.Helper()
	if reply["status_code"] != 0.0 || reply["status_msg"] != "OK" {
		t.Fatalf("got %v, want status_code 0, status_msg OK", reply)
	}
	return reply
}

// refused returns the message in a reply. The reply must be an error, and the message
// must contain the parts.
func refused(t *testing.T, reply object, parts ...string) string {
	t.Helper()
	message, _ := reply["status_msg"].(string)
	if reply["status_code"] != 1.0 || message == "" {
		t.Fatalf("got %v, want status_code 1 with a message", reply)
	}
	for _, part := range parts {
		if !strings.Contains(message, part) {
			t.Errorf("got status_msg %q, want %q in it", message, part)
		}
	}
	return message
}

// user is a user with an account.
type user struct {
	id    int64
	token string
}

func (s *service) register(t *testing.T, name string) user {
	t.Helper()
	reply := ok(t, s.post(t, "user/register/", "username", name, "password", "password of "+name))
	return user{int64(reply["user_id"].(float64)), reply["token"].(string)}
}

// mp4 returns a file that begins like an MP4 file.
func mp4(more string) []byte {
	return []byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2" + more)
}

// part is a field of a form, or its file.
type part struct {
	name, value string
	file        []byte
}

// upload returns a request that uploads the parts in this order.
func (s *service) upload(t *testing.T, query url.Values, parts ...part) *http.Request {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, p := range parts {
		if p.file == nil {
			must.Succeed(t, w.WriteField(p.name, p.value))
			continue
		}
		file, err := w.CreateFormFile(p.name, p.value)
		must.Succeed(t, err)
		_, err = file.Write(p.file)
		must.Succeed(t, err)
	}
	must.Succeed(t, w.Close())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/douyin/publish/action/?"+query.Encode(), &body)
	must.Succeed(t, err)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return r
}

func (s *service) publish(t *testing.T, by user, title string) (videoID int64) {
	t.Helper()
	ok(t, s.do(t, s.upload(t, nil, part{"data", "bear.mp4", mp4(title)}, part{name: "token", value: by.token}, part{name: "title", value: title})))
	return int64(entries(t, s.get(t, "publish/list/", "token", by.token), "video_list")[0]["id"].(float64))
}

// entries returns the entries of a list in a reply, which must not be an error.
func entries(t *testing.T, reply object, name string) (out []object) {
	t.Helper()
	list, is := ok(t, reply)[name].([]any)
	if !is {
		t.Fatalf("got %v, want the list %s", reply, name)
	}
	for _, one := range list {
		out = append(out, one.(object))
	}
	return out
}

// files returns the names of the files in the folder, except the marker file.
func (s *service) files(t *testing.T) (names []string) {
	t.Helper()
	must.Succeed(t, filepath.WalkDir(s.folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "ovation-site" {
			names = append(names, path)
		}
		return err
	}))
	return names
}
