package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"ovation/api/viewer"
	"ovation/storage"
)

const (
	maxFirst     = 200 // largest number of entries in a list
	defaultFirst = 20
)

// Config configures a handler. All fields are required.
type Config struct {
	Store storage.Surveyor
	// Folders looks up the names of the folders in a history.
	Folders interface {
		FoldersOf(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error)
	}
	Auth *viewer.Authenticator
	// Lag returns the number of accepted actions that are not persisted yet. The result
	// problem is the reason why nothing can be persisted at the moment, or nil if actions
	// can be persisted.
	Lag    func(ctx context.Context) (waiting int64, problem error)
	Logger *slog.Logger
}

// NewHandler returns a handler for paths below /data/.
func NewHandler(cfg Config) http.Handler {
	h := &handler{cfg}
	mux := http.NewServeMux()
	for path, answer := range map[string]func(*http.Request, storage.User) (any, error){
		"GET /data/survey": h.survey, "GET /data/hottest": h.hottest, "GET /data/history": h.history,
		"GET /data/activity": h.activity,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, answer) })
	}
	mux.HandleFunc("GET /data/{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/data", http.StatusPermanentRedirect)
	})
	mux.HandleFunc("/data/", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusNotFound, problem{"there is no such thing; the page is at /data"})
	})
	return mux
}

type handler struct{ Config }

// problem is the body of an error reply.
type problem struct {
	Error string `json:"error"`
}

// serve answers a request if its sender could act as any user, and rejects it otherwise.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, answer func(*http.Request, storage.User) (any, error)) {
	is, err := h.Auth.Authenticate(r)
	if distrust := h.Auth.Distrust(r); err == nil && distrust != nil {
		err = errors.New("the data of all users is shown where X-Ovation-User is accepted: " + distrust.Reason)
	}
	if err == nil && isCrossOrigin(r) {
		err = errors.New("the data of all users is shown to the server's own pages alone")
	}
	if err != nil {
		respond(w, http.StatusForbidden, problem{err.Error()})
		return
	}
	got, err := answer(r, is.User)
	invalid, isInvalid := errors.AsType[*storage.InvalidError](err)
	switch {
	case err == nil:
		respond(w, http.StatusOK, got)
	case isInvalid:
		respond(w, http.StatusBadRequest, problem{invalid.Error()})
	case errors.Is(err, storage.ErrUnavailable), r.Context().Err() != nil:
		respond(w, http.StatusServiceUnavailable, problem{"the database does not answer in time: " + err.Error()})
	default:
		h.Logger.Error("the data page cannot be answered", "path", r.URL.Path, "error", err)
		respond(w, http.StatusInternalServerError, problem{"something went wrong; the log has it"})
	}
}

// isCrossOrigin reports whether, according to the browser, the request comes from a
// page of another origin.
func isCrossOrigin(r *http.Request) bool {
	site := cmp.Or(r.Header.Get("Sec-Fetch-Site"), "none")
	return site != "same-origin" && site != "none"
}

func respond(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) //nolint:errchkjson // the client may have disconnected
}

// counts holds the counts of one subject, or the sums over many subjects, under the names
// that they have in GraphQL.
type counts struct {
	ReadCount     int64 `json:"readCount"`
	ReaderCount   int64 `json:"readerCount"`
	LikeCount     int64 `json:"likeCount"`
	DislikeCount  int64 `json:"dislikeCount"`
	CollectCount  int64 `json:"collectCount"`
	FollowerCount int64 `json:"followerCount"`
}

func countsOf(c storage.Counts) counts {
	return counts{c.ReadCount, c.ReaderCount, c.LikeCount, c.DislikeCount, c.CollectCount, c.FollowerCount}
}

type kindSummary struct {
	Biz      string `json:"biz"`
	Subjects int64  `json:"subjects"`
	counts
	Comments int64 `json:"comments"`
}

type survey struct {
	Tenant      string        `json:"tenant"`
	Now         time.Time     `json:"now"`
	Kinds       []kindSummary `json:"kinds"`
	Users       int64         `json:"users"`
	Folders     int64         `json:"folders"`
	PersistedAt *time.Time    `json:"persistedAt"`
	Waiting     int64         `json:"waiting"`
	Problem     string        `json:"problem"`
}

func (h *handler) survey(r *http.Request, who storage.User) (any, error) {
	got, err := h.Store.Survey(r.Context(), who.Tenant)
	if err != nil {
		return nil, err
	}
	out := survey{Tenant: who.Tenant, Now: time.Now().UTC(), Kinds: []kindSummary{}, Users: got.Users, Folders: got.Folders, PersistedAt: timeOf(got.Persisted)}
	for _, k := range got.Kinds {
		out.Kinds = append(out.Kinds, kindSummary{k.Biz, k.Subjects, countsOf(k.Counts), k.Comments})
	}
	var stuck error
	if out.Waiting, stuck = h.Lag(r.Context()); stuck != nil {
		out.Problem = stuck.Error()
	}
	return out, nil
}

type hotSubject struct {
	Biz   string `json:"biz"`
	BizID string `json:"bizId"`
	counts
	Author string `json:"author"`
}

func (h *handler) hottest(r *http.Request, who storage.User) (any, error) {
	first, err := firstOf(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	found, err := h.Store.Hottest(r.Context(), storage.HottestQuery{
		Tenant: who.Tenant, Biz: q.Get("biz"), By: cmp.Or(q.Get("by"), "readCount"), Limit: first,
	})
	out := []hotSubject{}
	for _, s := range found {
		out = append(out, hotSubject{s.Subject.Biz, s.Subject.BizID, countsOf(s.Counts), s.AuthorID})
	}
	return out, err
}

// kindActivity has the number of changes in each hour of the last day, the latest hour last.
type kindActivity struct {
	Biz   string    `json:"biz"`
	Hours [24]int64 `json:"hours"`
}

// activity answers for one subject if the request names one.
func (h *handler) activity(r *http.Request, who storage.User) (any, error) {
	q := r.URL.Query()
	query := storage.ActivityQuery{Tenant: who.Tenant, Since: time.Now().Add(-24 * time.Hour).UnixMicro()}
	if q.Has("biz") {
		query.Subject = storage.Subject{Tenant: who.Tenant, Biz: q.Get("biz"), BizID: q.Get("bizId")}
		if err := query.Subject.Validate(); err != nil {
			return nil, err
		}
	}
	found, err := h.Store.Activity(r.Context(), query)
	out := []kindActivity{}
	for _, one := range found {
		out = append(out, kindActivity(one))
	}
	return out, err
}

// change is the latest change to a state. Was and Is describe the state before and after
// the change, for display.
type change struct {
	At    time.Time  `json:"at"`
	User  string     `json:"user"` // empty for the sum over all anonymous users
	What  string     `json:"what"`
	Was   string     `json:"was"`
	Is    string     `json:"is"`
	Times int64      `json:"times"`
	Since *time.Time `json:"since"`
}

func (h *handler) history(r *http.Request, who storage.User) (any, error) {
	first, err := firstOf(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	found, err := h.Store.History(r.Context(), storage.Subject{Tenant: who.Tenant, Biz: q.Get("biz"), BizID: q.Get("bizId")}, first)
	if err != nil {
		return nil, err
	}
	named, err := h.foldersOf(r.Context(), found)
	if err != nil {
		return nil, err
	}
	out := []change{}
	for i := range found {
		out = append(out, describe(&found[i], named))
	}
	return out, nil
}

func describe(of *storage.PastChange, folders map[storage.FolderKey]string) change {
	out := change{At: storage.Time(of.Version), User: of.User.UserID}
	switch of.Kind {
	case storage.KindReaction:
		out.What, out.Was, out.Is = "reaction", reactions[of.OldReaction], reactions[of.Reaction]
	case storage.KindCollection:
		out.What = "folder"
		out.Was, out.Is = folders[storage.FolderKey{Owner: of.User, FolderID: of.OldFolderID}], folders[storage.FolderKey{Owner: of.User, FolderID: of.FolderID}]
	case storage.KindFollow:
		out.What, out.Was, out.Is = "follow", follows[of.OldFollowing], follows[of.Following]
	default:
		out.What, out.Times, out.Since = "read", of.Times, timeOf(of.First)
	}
	return out
}

var (
	reactions = map[storage.Reaction]string{storage.Like: "like", storage.Dislike: "dislike"}
	follows   = map[bool]string{true: "follows"}
)

// foldersOf returns the names of the folders that the given changes mention.
func (h *handler) foldersOf(ctx context.Context, changes []storage.PastChange) (map[storage.FolderKey]string, error) {
	var keys []storage.FolderKey
	for i := range changes {
		for _, id := range []string{changes[i].OldFolderID, changes[i].FolderID} {
			if id != "" {
				keys = append(keys, storage.FolderKey{Owner: changes[i].User, FolderID: id})
			}
		}
	}
	if len(keys) == 0 {
		return nil, nil //nolint:nilnil // there are no names
	}
	found, err := h.Folders.FoldersOf(ctx, keys)
	names := map[storage.FolderKey]string{}
	for i, folder := range found {
		names[keys[i]] = "a deleted folder"
		if folder != nil {
			names[keys[i]] = folder.Name
		}
	}
	return names, err
}

func firstOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("first")
	if text == "" {
		return defaultFirst, nil
	}
	first, err := strconv.Atoi(text)
	if err != nil || first < 1 || first > maxFirst {
		return 0, &storage.InvalidError{Field: "first", Reason: fmt.Sprintf("must be 1 to %d", maxFirst)}
	}
	return first, nil
}

// timeOf returns a version as a time, or nil if the version is 0.
func timeOf(version int64) *time.Time {
	if version == 0 {
		return nil
	}
	at := storage.Time(version)
	return &at
}
