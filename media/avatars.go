package media

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"ovation/api/quota"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/storage"
	"ovation/worker"
)

const (
	// MaxAvatarBytes is the maximum size of an uploaded picture, in bytes.
	MaxAvatarBytes = 5 << 20
	// avatarsPerUser is the number of pictures that a user may upload per hour, and at once
	// after an hour without any. Rejected ones count.
	avatarsPerUser = 30
	// maxDecodings is the number of pictures that a node decodes at the same time.
	maxDecodings = 1
)

// Accounts keeps the profiles that pictures belong to. storage.Store implements it.
type Accounts interface {
	AccountOf(ctx context.Context, user storage.User) (*storage.Account, error)
	UpdateProfile(ctx context.Context, user storage.User, change storage.ProfileChange) (*storage.UpdatedProfile, error)
	NamedAvatars(ctx context.Context, files []string) ([]bool, error)
}

// ErrNoAccounts is returned if the site has no accounts, and so no profiles.
var ErrNoAccounts = errors.New("this site has no accounts of its own: --accounts (OVATION_ACCOUNTS) turns them on")

// ErrNoAccount is returned if a user has no account, and so no profile.
var ErrNoAccount = errors.New("this token does not belong to an account of this site")

// SetAvatar makes a picture in JPEG, PNG, GIF or WebP the avatar of a user: its middle
// square, scaled to AvatarSide, without its metadata. It returns the path of the picture on
// the site. It first writes the file, then the profile, and then removes the file of the
// former avatar. Once the picture is decoded, SetAvatar continues even if ctx is cancelled.
// Errors: storage.ErrInvalid if the file is not such a picture or has too many pixels;
// ErrTooLarge if it has more than MaxAvatarBytes; ErrBusy; ErrNoAccount; ErrNoAccounts; and
// storage.ErrUnavailable, in which case the avatar may or may not be set.
func (s *Service) SetAvatar(ctx context.Context, of storage.User, file []byte) (path string, err error) {
	if s.Accounts == nil {
		return "", ErrNoAccounts
	}
	if len(file) > MaxAvatarBytes {
		return "", ErrTooLarge
	}
	picture, err := encodeAvatar(ctx, s.decodings, file)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	name := strings.ToLower(rand.Text())
	key, path := storage.AvatarKey(name), storage.AvatarPath(name)
	if err := s.Blobs.write(ctx, key, types["avatars"]["jpg"], bytes.NewReader(picture)); err != nil {
		return "", err
	}
	updated, err := s.Accounts.UpdateProfile(ctx, of, storage.ProfileChange{Avatar: &path, Uploaded: true})
	if errors.Is(err, storage.ErrNotFound) {
		err = ErrNoAccount
	}
	if err != nil {
		if errors.Is(err, storage.ErrInvalid) || errors.Is(err, ErrNoAccount) { // otherwise the profile may name the file
			s.removeAvatar(ctx, key)
		}
		return "", fmt.Errorf("set the avatar: %w", err)
	}
	s.RemoveFormerAvatar(ctx, updated)
	return path, nil
}

// RemoveFormerAvatar removes the file of the former avatar after a change of a profile, if
// that was an uploaded picture and no profile names it (one from an archive may). A file
// that cannot be removed now is swept later.
func (s *Service) RemoveFormerAvatar(ctx context.Context, after *storage.UpdatedProfile) {
	former := after.Former.AvatarFile()
	if former == "" || after.Former.Avatar == after.Avatar || s.Accounts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	named, err := s.Accounts.NamedAvatars(ctx, []string{former})
	switch {
	case err != nil:
		s.Logger.Warn("picture of a profile not removed; it is swept later", "file", former, "error", err)
	case !named[0]:
		s.removeAvatar(ctx, storage.AvatarKey(former))
	}
}

func (s *Service) removeAvatar(ctx context.Context, key string) {
	if err := s.Blobs.remove(ctx, key); err != nil {
		s.Logger.Warn("picture of a profile not removed; it is swept later", "file", key, "error", err)
	}
}

// EraseAvatar removes the avatar of a user who will be erased, and its file unless another
// profile names it. Calls that are unavailable are repeated for a while. If the process is
// killed in between, or the blob store fails for longer, the file is swept later. Errors:
// storage.ErrUnavailable; ErrNoAccounts; the context's error.
func (s *Service) EraseAvatar(ctx context.Context, of storage.User) error {
	if s.Accounts == nil {
		return ErrNoAccounts
	}
	files := make(map[string]bool) // of the avatar; a call that fails may have cleared the profile
	_, err := worker.WhileUnavailable(ctx, func() (struct{}, error) { return struct{}{}, s.eraseAvatar(ctx, of, files) })
	return err
}

func (s *Service) eraseAvatar(ctx context.Context, of storage.User, files map[string]bool) error {
	account, err := s.Accounts.AccountOf(ctx, of)
	if err != nil {
		return err
	}
	if account != nil {
		files[account.AvatarFile()] = true
		none := ""
		updated, err := s.Accounts.UpdateProfile(ctx, of, storage.ProfileChange{Avatar: &none})
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		if err == nil {
			files[updated.Former.AvatarFile()] = true
		}
	}
	delete(files, "") // no uploaded picture
	names := slices.Sorted(maps.Keys(files))
	named, err := s.Accounts.NamedAvatars(ctx, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		if named[i] {
			continue
		}
		if err := s.Blobs.remove(ctx, storage.AvatarKey(name)); err != nil {
			return err
		}
	}
	return nil
}

// Avatars returns a handler that receives a picture from the viewer by POST and makes it
// the viewer's avatar. The body is a multipart form with the field file. The response is a
// JSON object with avatarUrl, or errors in GraphQL's format. A request costs
// rate.PerUpload and its bytes.
func (s *Service) Avatars() http.Handler {
	return s.WithMinRate(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, err := s.receiveAvatar(w, r)
		if err != nil {
			s.answerError(w, r, err, pictures)
			return
		}
		s.avatars.WithLabelValues("stored").Inc()
		answer(w, http.StatusCreated, map[string]any{"avatarUrl": path})
	}))
}

func (s *Service) receiveAvatar(w http.ResponseWriter, r *http.Request) (path string, err error) {
	if s.Accounts == nil {
		return "", ErrNoAccounts
	}
	me := viewer.FromContext(r.Context())
	if me.Anonymous() {
		return "", errNotSignedIn
	}
	if wait := rate.FromContext(r.Context()).Take(rate.PerUpload); wait > 0 {
		return "", rateError(wait)
	}
	end, ok := s.uploadPlaces.take(quota.Owner{User: me, Address: rate.FromContext(r.Context()).Address()})
	if !ok {
		return "", ErrBusy
	}
	defer end()
	if wait := s.pictures.Take(publisher(me)); wait > 0 {
		return "", &LimitedError{wait}
	}
	var picture []byte
	received := false
	_, err = readForm(w, r, MaxAvatarBytes, "file", func(_ map[string]string, part *multipart.Part) (err error) {
		if received {
			return &storage.InvalidError{Field: "file", Reason: "must be one file"}
		}
		received = true
		if picture, err = io.ReadAll(io.LimitReader(part, MaxAvatarBytes+1)); err != nil {
			return broken(err)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if !received {
		return "", errNoFile
	}
	return s.SetAvatar(r.Context(), me, picture)
}

// newPictures returns the limit of the pictures that a user may upload.
func newPictures() *rate.Attempts {
	return rate.NewAttempts(avatarsPerUser, time.Hour/avatarsPerUser)
}
