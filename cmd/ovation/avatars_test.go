package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// uploadsAvatar uploads a picture with a token and returns the status and the path.
func (s *server) uploadsAvatar(t *testing.T, token string) (status int, path string) {
	t.Helper()
	var picture, form bytes.Buffer
	must.Succeed(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20))))
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "me.png")
	must.Succeed(t, err)
	_, err = part.Write(picture.Bytes())
	must.Succeed(t, err)
	must.Succeed(t, w.Close())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/media/avatars", &form)
	must.Succeed(t, err)
	request.Header.Set("Content-Type", w.FormDataContentType())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	must.Succeed(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must.Succeed(t, err)
	var out struct{ AvatarURL string }
	if err := json.Unmarshal(body, &out); err != nil {
		t.Errorf("got status %d, %s, want JSON: %v", response.StatusCode, body, err)
	}
	return response.StatusCode, out.AvatarURL
}

// TestUploadedAvatarFollowsItsProfile uploads a picture, reads it in both APIs, removes and
// replaces it, and erases the user.
func TestUploadedAvatarFollowsItsProfile(t *testing.T) {
	t.Parallel()
	data := emptyData(t)
	s := serve(t, data)
	ann, err := s.session("register", "Ann")
	must.Succeed(t, err)
	wantFiles := func(after string, want int) {
		t.Helper()
		if found, err := filepath.Glob(filepath.Join(data, mediaFolder, "avatars", "*")); err != nil || len(found) != want {
			t.Errorf("%s: the files are %v, %v, want %d", after, found, err, want)
		}
	}
	shown := func() string {
		t.Helper()
		var out struct {
			User struct{ Profile struct{ AvatarURL string } }
		}
		must.Succeed(t, s.graphQL("alice", fmt.Sprintf(`{ user(userId: %q) { profile { avatarUrl } } }`, ann.User.UserID), &out))
		return out.User.Profile.AvatarURL
	}
	update := func(avatar string) error {
		return s.post([]byte(fmt.Sprintf(`{"query":"mutation { updateProfile(input: {avatarUrl: %s}) { user { userId } } }"}`, strings.ReplaceAll(avatar, `"`, `\"`))), bearer(ann.Token), nil)
	}
	status, path := s.uploadsAvatar(t, ann.Token)
	if status != http.StatusCreated || path == "" || shown() != path {
		t.Fatalf("got status %d, %q, and the avatar %q, want 201 and the same path", status, path, shown())
	}
	served, err := client.Get(s.url + path)
	must.Succeed(t, err)
	must.Succeed(t, served.Body.Close())
	if served.StatusCode != http.StatusOK || served.Header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("GET %s: got status %d, %v, want 200, image/jpeg", path, served.StatusCode, served.Header)
	}
	d := douyinClient{t, s.url}
	if got := d.get("user/", "user_id", ann.User.UserID, "token", ann.Token).ok(t).User.Avatar; got != s.url+path {
		t.Errorf("the avatar for mini Douyin clients is %q, want %q", got, s.url+path)
	}
	wantFiles("the upload", 1)
	must.Succeed(t, update(`""`))
	wantFiles("the removal", 0)
	if err := update(`"` + path + `"`); err == nil || !strings.Contains(err.Error(), "/media/avatars") {
		t.Errorf("naming a removed picture: got %v, want that it must be uploaded", err)
	}
	for range 2 {
		status, path = s.uploadsAvatar(t, ann.Token)
	}
	if status != http.StatusCreated || shown() != path {
		t.Errorf("got status %d, %q, and the avatar %q, want 201 and the same path", status, path, shown())
	}
	wantFiles("two more uploads", 1)
	call(t, environment(), "erase", "--data="+data, "--user="+ann.User.UserID, "--yes").want(t, 0, "Erased user")
	wantFiles("the erasure", 0)
}

// TestAvatarsNeedAccountsAndVideos checks the status on sites that cannot store pictures.
func TestAvatarsNeedAccountsAndVideos(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--no-accounts", "--no-videos"} {
		s := serve(t, emptyData(t), flag)
		if status, _ := s.uploadsAvatar(t, ""); status != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 404", flag, status)
		}
	}
}
