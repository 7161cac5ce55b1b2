package media

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ovation/api/quota"
	"ovation/api/rate"
	"ovation/internal/testing/must"
	"ovation/internal/testing/openapitest"
	"ovation/storage"
)

// register creates an account and returns its user.
func (s *site) register(t *testing.T, name string) storage.User {
	t.Helper()
	a, err := s.store.CreateAccount(t.Context(), storage.NewAccount{Tenant: storage.DefaultTenant, Name: name, NameKey: name, Password: "x"})
	must.Succeed(t, err)
	return a.User
}

// avatar returns the avatar in a user's profile.
func (s *site) avatar(t *testing.T, of storage.User) string {
	t.Helper()
	a, err := s.store.AccountOf(t.Context(), of)
	must.Succeed(t, err)
	return a.Avatar
}

// setAvatar sets a user's avatar to a picture and returns its path.
func (s *site) setAvatar(t *testing.T, of storage.User) string {
	t.Helper()
	path, err := s.service.SetAvatar(t.Context(), of, pngOf(t, corners(8, 8)))
	must.Succeed(t, err)
	return path
}

type uploadedAvatar struct {
	AvatarURL string

	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

// sendAvatar sends a body as a user and returns the status and the response.
func (s *site) sendAvatar(t *testing.T, by storage.User, body []byte, contentType string) (int, uploadedAvatar) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/media/avatars", bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	as(by, s.service.Avatars()).ServeHTTP(w, r)
	document, err := openapitest.Load()
	must.Succeed(t, err)
	if err := document.CheckReply(http.MethodPost, "/media/avatars", w.Code, w.Body.Bytes()); err != nil {
		t.Errorf("the OpenAPI document does not describe status %d, %s: %v", w.Code, w.Body, err)
	}
	var out uploadedAvatar
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("got status %d, %s, want JSON: %v", w.Code, w.Body, err)
	}
	return w.Code, out
}

// TestUploadedPictureBecomesTheAvatar uploads two pictures: the second replaces the first.
func TestUploadedPictureBecomesTheAvatar(t *testing.T) {
	s := newSite(t, nil)
	ann := s.register(t, "ann")
	var paths []string
	for _, file := range [][]byte{jpegOf(t, corners(300, 200)), pngOf(t, corners(10, 20))} {
		sent, contentType := form(t, file, "more", "fields")
		status, got := s.sendAvatar(t, ann, sent, contentType)
		if status != http.StatusCreated || got.AvatarURL == "" || got.AvatarURL != s.avatar(t, ann) {
			t.Fatalf("got status %d, %+v, and the avatar %q, want 201 and the path of the avatar", status, got, s.avatar(t, ann))
		}
		paths = append(paths, got.AvatarURL)
		stored, err := os.ReadFile(filepath.Join(s.folder, strings.TrimPrefix(got.AvatarURL, storage.MediaPath)))
		must.Succeed(t, err)
		if letters := cornersOf(t, stored); letters != "rgby" {
			t.Errorf("the corners are %s, want rgby", letters)
		}
		response := get(t, Files(s.blobs, quietly), http.MethodGet, got.AvatarURL)
		header := response.Header
		if served := body(t, response); !bytes.Equal(served, stored) || header.Get("Content-Type") != "image/jpeg" || header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(header.Get("Content-Security-Policy"), "sandbox") || !strings.Contains(header.Get("Cache-Control"), "immutable") {
			t.Errorf("the picture is served with %v, want the file and the headers of files", header)
		}
	}
	if files := s.files(t); paths[0] == paths[1] || !slices.Equal(files, []string{strings.TrimPrefix(paths[1], storage.MediaPath)}) {
		t.Errorf("the paths are %v and the files %v, want two paths and the file of the second", paths, files)
	}
	s.wantNoPlacesTaken(t)
}

// TestRefusedAvatarsLeaveNothing checks the responses to bad requests.
func TestRefusedAvatarsLeaveNothing(t *testing.T) {
	s := newSite(t, nil)
	s.service.pictures = nil
	ann := s.register(t, "ann")
	good := pngOf(t, corners(8, 8))
	large := append(slices.Clone(good), make([]byte, MaxAvatarBytes+1-len(good))...)
	for name, c := range map[string]struct {
		by     storage.User
		file   []byte
		status int
		code   string
	}{
		"anonymous":           {storage.User{Tenant: storage.DefaultTenant}, good, http.StatusUnauthorized, "UNAUTHENTICATED"},
		"no account":          {alice, good, http.StatusNotFound, "NOT_FOUND"},
		"no file":             {ann, nil, http.StatusBadRequest, "BAD_USER_INPUT"},
		"an empty file":       {ann, []byte{}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"a video":             {ann, mp4(100), http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"half a picture":      {ann, good[:len(good)/2], http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"too large by a byte": {ann, large, http.StatusRequestEntityTooLarge, "LIMIT_EXCEEDED"},
		"far too large":       {ann, make([]byte, 2*MaxAvatarBytes), http.StatusRequestEntityTooLarge, "LIMIT_EXCEEDED"},
	} {
		body, contentType := form(t, c.file)
		status, got := s.sendAvatar(t, c.by, body, contentType)
		if status != c.status || len(got.Errors) != 1 || got.Errors[0].Extensions.Code != c.code {
			t.Errorf("%s: got status %d, %+v, want %d, one error %s", name, status, got, c.status, c.code)
		}
		if strings.Contains(name, "large") && !strings.Contains(got.Errors[0].Message, "the picture is too large; at most 5 MiB are allowed") {
			t.Errorf("%s: the message is %q, want the maximum", name, got.Errors[0].Message)
		}
		s.wantNoLeftovers(t, name)
	}
	body, contentType := form(t, good)
	if status, _ := s.sendAvatar(t, ann, body[:len(body)-10], contentType); status != http.StatusBadRequest {
		t.Errorf("a body that ends early: got status %d, want 400", status)
	}
	if status, _ := s.sendAvatar(t, ann, []byte("{}"), "application/json"); status != http.StatusBadRequest {
		t.Errorf("JSON: got status %d, want 400", status)
	}
	s.service.Accounts = nil
	if status, got := s.sendAvatar(t, ann, body, contentType); status != http.StatusNotFound || !strings.Contains(got.Errors[0].Message, "--accounts") {
		t.Errorf("a site without accounts: got status %d, %+v, want 404 and the flag", status, got)
	}
	s.wantNoLeftovers(t, "all")
	s.wantNoPlacesTaken(t)
}

// TestAvatarsOfAUserAreLimited checks the limit by user, that of the places, and that a
// request costs units.
func TestAvatarsOfAUserAreLimited(t *testing.T) {
	s := newSite(t, nil)
	ann, bob := s.register(t, "ann"), s.register(t, "bob")
	s.service.pictures = rate.NewAttempts(2, time.Hour)
	body, contentType := form(t, pngOf(t, corners(8, 8)))
	for i, want := range []int{http.StatusCreated, http.StatusCreated, http.StatusTooManyRequests} {
		if status, got := s.sendAvatar(t, ann, body, contentType); status != want {
			t.Errorf("upload %d: got status %d, %+v, want %d", i, status, got, want)
		}
	}
	if status, got := s.sendAvatar(t, bob, body, contentType); status != http.StatusCreated {
		t.Errorf("another user: got status %d, %+v, want 201", status, got)
	}
	for range maxUploadsOfUser {
		end, err := s.service.Reserve(quota.Owner{User: bob})
		must.Succeed(t, err)
		defer end()
	}
	if status, got := s.sendAvatar(t, bob, body, contentType); status != http.StatusTooManyRequests || !strings.Contains(got.Errors[0].Message, "in progress") {
		t.Errorf("an upload beside %d: got status %d, %+v, want 429", maxUploadsOfUser, status, got)
	}
	l := rate.New(rate.Config{PerAddress: 60}) // 600 at once
	for i, want := range []int{http.StatusCreated, http.StatusTooManyRequests} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/media/avatars", bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		payerOf(l, "192.0.2.1", as(s.register(t, fmt.Sprint("user ", i)), s.service.Avatars())).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("paying for upload %d: got status %d, %s, want %d", i, w.Code, w.Body, want)
		}
	}
}

// TestProfilesDoNotShareUploadedPictures checks that a profile cannot take the uploaded
// picture of another, so that a change of one removes no file of the other.
func TestProfilesDoNotShareUploadedPictures(t *testing.T) {
	s := newSite(t, nil)
	ann, bob := s.register(t, "ann"), s.register(t, "bob")
	path := s.setAvatar(t, ann)
	update := func(of storage.User, avatar string) error {
		updated, err := s.store.UpdateProfile(t.Context(), of, storage.ProfileChange{Avatar: &avatar})
		if err == nil {
			s.service.RemoveFormerAvatar(t.Context(), updated)
		}
		return err
	}
	if err := update(bob, path); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("taking the picture of another profile: got %v, want %v", err, storage.ErrInvalid)
	}
	for _, avatar := range []string{"https://example.com" + path, path + "?x", "/media/avatars/../avatars/" + filepath.Base(path), ""} {
		must.Succeed(t, update(bob, avatar))
	}
	must.Succeed(t, update(ann, path)) // as it is
	if files := s.files(t); len(files) != 1 {
		t.Errorf("the files are %v, want that of the first profile", files)
	}
	if _, err := s.store.UpdateProfile(t.Context(), bob, storage.ProfileChange{Avatar: &path, Uploaded: true}); err != nil { // as an archive may
		t.Fatal(err)
	}
	must.Succeed(t, update(bob, ""))
	if files := s.files(t); len(files) != 1 {
		t.Errorf("the files are %v, want that of the first profile", files)
	}
	must.Succeed(t, update(ann, "https://example.com/a.png"))
	s.wantNoLeftovers(t, "another avatar")
	if err := update(ann, path); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("taking a former picture again: got %v, want %v", err, storage.ErrInvalid)
	}
}

// TestSweepKeepsAvatars checks that the sweep removes only pictures that no profile names.
func TestSweepKeepsAvatars(t *testing.T) {
	s := newSite(t, nil)
	path := s.setAvatar(t, s.register(t, "ann"))
	for _, key := range []string{storage.AvatarKey(strings.Repeat("a", 26)), "avatars/" + strings.Repeat("b", 26) + ".jpg.1.tmp", "avatars/x.html"} {
		must.Succeed(t, s.blobs.write(t.Context(), key, "image/jpeg", strings.NewReader("x")))
	}
	nameless := storage.AvatarPath("") // that of no file keeps none
	_, err := s.store.UpdateProfile(t.Context(), s.register(t, "bob"), storage.ProfileChange{Avatar: &nameless})
	must.Succeed(t, err)
	n, err := newJanitor(s, time.Nanosecond).Sweep(t.Context())
	must.Succeed(t, err)
	if files := s.files(t); n != 3 || !slices.Equal(files, []string{strings.TrimPrefix(path, storage.MediaPath)}) {
		t.Errorf("Sweep = %d and left %v, want 3 and the avatar", n, files)
	}
}

// TestErasureRemovesTheAvatar checks also that an erased user gets no avatar.
func TestErasureRemovesTheAvatar(t *testing.T) {
	s := newSite(t, nil)
	ann, bob := s.register(t, "ann"), s.register(t, "bob")
	s.setAvatar(t, ann)
	must.Succeed(t, s.service.EraseAvatar(t.Context(), bob))
	must.Succeed(t, s.service.EraseAvatar(t.Context(), storage.User{Tenant: storage.DefaultTenant, UserID: "9"}))
	if files := s.files(t); len(files) != 1 {
		t.Errorf("the files are %v, want that of the other user", files)
	}
	for range 2 { // it may be repeated
		must.Succeed(t, s.service.EraseAvatar(t.Context(), ann))
		s.wantNoLeftovers(t, "the erasure")
	}
	path := s.setAvatar(t, ann)
	_, err := s.store.UpdateProfile(t.Context(), bob, storage.ProfileChange{Avatar: &path, Uploaded: true}) // as from an archive
	must.Succeed(t, err)
	must.Succeed(t, s.service.EraseAvatar(t.Context(), ann))
	if files := s.files(t); len(files) != 1 || s.avatar(t, ann) != "" {
		t.Errorf("the files are %v and the avatar is %q, want the file that is another user's, too, and no avatar", files, s.avatar(t, ann))
	}
	must.Succeed(t, s.service.EraseAvatar(t.Context(), bob))
	must.Succeed(t, s.store.BeginErase(t.Context(), ann))
	if _, err := s.service.SetAvatar(t.Context(), ann, pngOf(t, corners(8, 8))); !errors.Is(err, ErrNoAccount) {
		t.Errorf("SetAvatar of an erased user = %v, want %v", err, ErrNoAccount)
	}
	s.wantNoLeftovers(t, "the refusal")
}

// shakyAccounts fails once in each of two methods, after a change has been committed in one.
type shakyAccounts struct {
	Accounts

	changed, named bool // failed already
}

func (a *shakyAccounts) UpdateProfile(ctx context.Context, of storage.User, change storage.ProfileChange) (*storage.UpdatedProfile, error) {
	updated, err := a.Accounts.UpdateProfile(ctx, of, change)
	if err == nil && !a.changed {
		a.changed = true
		return nil, storage.ErrUnavailable
	}
	return updated, err
}

func (a *shakyAccounts) NamedAvatars(ctx context.Context, files []string) ([]bool, error) {
	if !a.named {
		a.named = true
		return nil, storage.ErrUnavailable
	}
	return a.Accounts.NamedAvatars(ctx, files)
}

// TestErasureOfAnAvatarIsRepeated checks that an erasure whose calls fail at first does not
// forget the file.
func TestErasureOfAnAvatarIsRepeated(t *testing.T) {
	s := newSite(t, nil)
	ann := s.register(t, "ann")
	s.setAvatar(t, ann)
	shaky := &shakyAccounts{Accounts: s.service.Accounts}
	s.service.Accounts = shaky
	must.Succeed(t, s.service.EraseAvatar(t.Context(), ann))
	if !shaky.changed || !shaky.named {
		t.Errorf("UpdateProfile failed: %t, NamedAvatars failed: %t, want both", shaky.changed, shaky.named)
	}
	s.wantNoLeftovers(t, "the erasure")
}

// TestAvatarWhileTheBlobStoreFails checks the response, and that the profile keeps its
// avatar.
func TestAvatarWhileTheBlobStoreFails(t *testing.T) {
	s := newSite(t, nil)
	ann := s.register(t, "ann")
	path := s.setAvatar(t, ann)
	must.Succeed(t, os.RemoveAll(s.folder))
	must.Succeed(t, os.WriteFile(s.folder, nil, 0o600)) // not a folder
	body, contentType := form(t, pngOf(t, corners(8, 8)))
	if status, got := s.sendAvatar(t, ann, body, contentType); status != http.StatusServiceUnavailable || got.Errors[0].Extensions.Code != "UNAVAILABLE" {
		t.Errorf("got status %d, %+v, want 503", status, got)
	}
	if got := s.avatar(t, ann); got != path {
		t.Errorf("the avatar is %q, want %q", got, path)
	}
}
