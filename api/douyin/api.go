package douyin

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"ovation/accounts"
	"ovation/api/codes"
	"ovation/api/enforce"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/internal/outage"
	"ovation/loaders"
	"ovation/media"
	"ovation/resolvers/transport"
	"ovation/storage"
	"ovation/worker"
)

// Path is the prefix of all endpoints.
const Path = "/douyin/"

// Recorder makes actions durable. *worker.Recorder implements it.
type Recorder interface {
	Record(ctx context.Context, action storage.Action, seen *storage.Interactive) (worker.Recorded, error)
}

// Comments adds and changes comments. *worker.Comments implements it.
type Comments interface {
	Add(ctx context.Context, comment storage.NewComment) (*storage.Comment, error)
	Delete(ctx context.Context, change storage.CommentChange) (*storage.Comment, error)
}

// Messages sends messages. *worker.Messages implements it.
type Messages interface {
	Send(ctx context.Context, message storage.NewDirectMessage) (*storage.DirectMessage, error)
}

// Config configures the API. Source, Recorder, Comments and Messages are required.
type Config struct {
	Source   loaders.Source
	Recorder Recorder
	Comments Comments
	Messages Messages
	// Accounts registers users and logs them in. It is nil if the site has no accounts of
	// its own.
	Accounts *accounts.Service
	// Videos receives uploads. It is nil if the site has no videos of its own.
	Videos *media.Service
	// Policy is what users may do and see. Source, Recorder and Comments must be decorated
	// with the same Enforcer. The zero value allows everything.
	Policy enforce.Enforcer
	// PublicURL is the scheme and host of the site as clients see it, for URLs of files.
	// If it is empty, the URLs have the scheme and host of the request.
	PublicURL string
	// Now is the clock. If it is nil, time.Now is used.
	Now func() time.Time
}

type api struct {
	Config

	auth    *viewer.Authenticator
	limiter *rate.Limiter
	log     *slog.Logger
	outage  *outage.Log
}

var _ transport.API = (*api)(nil)

// New returns the handler of all paths below Path. The given transport.Config configures
// the middleware; its Auth also authenticates tokens that requests pass as a parameter.
func New(cfg Config, around transport.Config) http.Handler {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	f := &api{Config: cfg, auth: around.Auth, limiter: around.Limiter, log: cmp.Or(around.Logger, slog.Default())}
	f.outage = outage.New(f.log, "requests of /douyin cannot be answered", "requests of /douyin are answered again")
	around.API = f
	ordinary := transport.Handler(http.HandlerFunc(f.serve), around)
	steady := media.WithMinRate(ordinary)
	if cfg.Videos != nil {
		steady = cfg.Videos.WithMinRate(ordinary)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := newCall(r)
		r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
		if IsUpload(r) {
			steady.ServeHTTP(w, r)
			return
		}
		ordinary.ServeHTTP(w, r)
	})
}

// IsUpload reports whether a request uploads a video. Such a request may exceed a
// server's timeouts.
func IsUpload(r *http.Request) bool {
	return strings.TrimSuffix(r.URL.Path, "/") == Path+"publish/action"
}

// Authenticate parses the parameters of a request and returns the identity that the token
// among them proves. Invalid parameters are rejected later, so that the client is charged
// for the request.
func (a *api) Authenticate(r *http.Request) (viewer.Identity, error) {
	c := callOf(r.Context())
	transport.SetOperation(r.Context(), c.operation(), c.kind())
	c.read(r)
	if token := c.values["token"]; c.refused == nil && token != "" {
		return a.identity(r.Context(), token)
	}
	return viewer.Identity{User: viewer.FromContext(r.Context())}, nil
}

func (a *api) identity(ctx context.Context, token string) (viewer.Identity, error) {
	if a.auth == nil {
		return viewer.Identity{}, errNoTokens
	}
	return a.auth.Token(ctx, token)
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	c.writer, c.request = w, r
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if !IsUpload(r) {
		ctx, cancel = context.WithTimeout(ctx, transport.AnswerTimeout)
	}
	defer cancel()
	out, err := a.answer(a.Policy.Begin(ctx), c)
	if err != nil {
		code, message := a.explain(ctx, err)
		c.count(a, code)
		transport.WriteError(w, r, http.StatusOK, code, message)
		return
	}
	c.count(a, "published")
	a.outage.Worked()
	write(w, out)
}

// answer executes a request and returns the reply.
func (a *api) answer(ctx context.Context, c *call) (reply, error) {
	switch {
	case c.endpoint == nil:
		return nil, errNoEndpoint
	case c.endpoint.method != c.request.Method && (c.endpoint.method != http.MethodGet || c.request.Method != http.MethodHead):
		c.writer.Header().Set("Allow", c.endpoint.method)
		return nil, &problem{codes.BadUserInput, "this endpoint needs the method " + c.endpoint.method}
	case c.refused != nil:
		return nil, c.refused
	}
	if wait := rate.FromContext(ctx).Take(c.endpoint.cost); wait > 0 {
		return nil, limited(wait)
	}
	kinds := storage.KindsOf(storage.KindReaction, storage.KindFollow)
	of := loaders.New(a.Source, viewer.FromContext(ctx), kinds)
	return c.endpoint.serve(loaders.NewContext(ctx, of), a, c)
}

// WriteError responds with an error. The fields of the endpoint's reply are present and
// empty.
func (a *api) WriteError(w http.ResponseWriter, r *http.Request, _, message string) {
	var out reply = new(status)
	if c := callOf(r.Context()); c.endpoint != nil {
		out = c.endpoint.zero()
	}
	*out.state() = status{StatusCode: 1, StatusMsg: message}
	if IsUpload(r) {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	write(w, out)
}

func write(w http.ResponseWriter, out reply) {
	if s := out.state(); s.StatusCode == 0 {
		s.StatusMsg = "OK"
	}
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	_ = json.NewEncoder(w).Encode(out) //nolint:errchkjson // the client may have disconnected
}
