package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ovation/storage"
)

const (
	eraseBatch = 500 // rows of each kind in one transaction
	videoBatch = 50  // videos looked up in one call
	// eraseTime bounds the attempts at one transaction while the store is unavailable.
	eraseTime = time.Minute
)

// EraserStore is the part of a store that an Eraser uses. If there is a mirror, the store
// must update it.
type EraserStore interface {
	storage.Erasures
	UserVideos(ctx context.Context, queries []storage.UserVideosQuery) ([]storage.ListPage[storage.Video], error)
}

// EraserOptions configures an Eraser. Store is required.
type EraserOptions struct {
	Store EraserStore
	// EraseVideo removes a video with its files. If it is nil, a user with videos is not
	// erased.
	EraseVideo func(ctx context.Context, video *storage.Video) error
	// EraseAvatar removes the user's avatar with its file, before the profile is removed.
	// It may be nil.
	EraseAvatar func(ctx context.Context, user storage.User) error
	// Progress is called with the number of rows and of videos erased so far, after each
	// transaction. It may be nil.
	Progress func(Erasure)
}

// Erasure is how much of a user an Eraser has erased: rows cleared or removed, so that a
// state counts twice, and videos.
type Erasure struct{ Rows, Videos int64 }

// Eraser erases users, in transactions of bounded size.
type Eraser struct{ EraserOptions }

// NewEraser returns an Eraser.
func NewEraser(o EraserOptions) *Eraser { return &Eraser{o} }

// Erase erases a user. It may be repeated, at any time, whatever it has done before. After
// each transaction it pauses for as long as the transaction took, so that other writers
// are delayed little. Errors: storage.ErrNotFound if the store has nothing of or about the
// user; storage.ErrInvalid; storage.ErrVideosLeft if EraseVideo is nil and the user has
// videos; storage.ErrUnavailable; the context's error.
func (e *Eraser) Erase(ctx context.Context, user storage.User) (done Erasure, err error) {
	if e.EraseAvatar != nil {
		if err := e.EraseAvatar(ctx, user); err != nil {
			return done, fmt.Errorf("erase the avatar: %w", err)
		}
	}
	begin := func() (struct{}, error) { return struct{}{}, e.Store.BeginErase(ctx, user) }
	if _, err := WhileUnavailable(ctx, begin); err != nil {
		return done, fmt.Errorf("begin to erase: %w", err)
	}
	if e.EraseVideo != nil {
		if err := e.eraseVideos(ctx, user, &done); err != nil {
			return done, fmt.Errorf("erase videos: %w", err)
		}
	}
	for {
		began := time.Now()
		n, err := WhileUnavailable(ctx, func() (int, error) {
			n, _, err := e.Store.EraseNext(ctx, user, eraseBatch, nil)
			return n, err
		})
		if err != nil {
			return done, fmt.Errorf("erase: %w", err)
		}
		if n == 0 {
			return done, nil
		}
		done.Rows += int64(n)
		e.progress(done)
		select {
		case <-time.After(time.Since(began)):
		case <-ctx.Done():
			return done, fmt.Errorf("erase: %w", ctx.Err())
		}
	}
}

func (e *Eraser) progress(done Erasure) {
	if e.Progress != nil {
		e.Progress(done)
	}
}

// eraseVideos removes the videos of a user.
func (e *Eraser) eraseVideos(ctx context.Context, user storage.User, done *Erasure) error {
	for {
		query := storage.UserVideosQuery{User: user, Page: storage.Page{First: videoBatch}}
		pages, err := WhileUnavailable(ctx, func() ([]storage.ListPage[storage.Video], error) {
			return e.Store.UserVideos(ctx, []storage.UserVideosQuery{query})
		})
		if err != nil || len(pages[0].Entries) == 0 {
			return err
		}
		for i := range pages[0].Entries {
			erase := func() (struct{}, error) { return struct{}{}, e.EraseVideo(ctx, &pages[0].Entries[i]) }
			if _, err := WhileUnavailable(ctx, erase); err != nil {
				return err
			}
			done.Videos++
			e.progress(*done)
		}
	}
}

// WhileUnavailable repeats a call while it returns storage.ErrUnavailable, for at most
// eraseTime.
func WhileUnavailable[T any](ctx context.Context, call func() (T, error)) (T, error) {
	return backoff.Retry(ctx, func() (T, error) {
		out, err := call()
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			err = backoff.Permanent(err)
		}
		return out, err
	}, backoff.WithMaxElapsedTime(eraseTime))
}
