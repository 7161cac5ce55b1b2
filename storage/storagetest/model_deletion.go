package storagetest

import (
	"fmt"

	"pgregory.net/rapid"

	"ovation/storage"
)

// publish publishes a video, whose subject then takes part in the model.
func (m *modelState) publish() {
	if len(m.videos) == 3 {
		m.Skip("there are enough videos")
	}
	v := newVideo(rapid.SampledFrom(m.users(m.tenants...)).Draw(m.T, "author"), fmt.Sprint("film", len(m.videos)))
	got, outcome, err := m.w.s.PublishVideo(m.w.Context(), v, nil)
	m.wantError("PublishVideo", err, nil)
	m.videos = append(m.videos, got.Video)
	subject := got.Video.Key().Subject()
	m.authors[subject] = storage.Action{Subject: subject, Kind: storage.KindAuthor, Author: got.Video.Author.UserID, Version: got.Video.Created}
	m.checkOutcome(outcome, nil)
}

func (m *modelState) deleteVideo() {
	if len(m.videos) == 0 {
		m.Skip("there is no video")
	}
	v := rapid.SampledFrom(m.videos).Draw(m.T, "video")
	subject := v.Key().Subject()
	_, outcome, err := m.w.s.DeleteVideo(m.w.Context(), storage.VideoDeletion{Key: v.Key(), By: v.Author}, nil)
	if m.erased[subject] {
		m.wantError("DeleteVideo", err, storage.ErrNotFound)
		return
	}
	m.wantError("DeleteVideo", err, nil)
	m.erased[subject] = true
	delete(m.authors, subject)
	m.checkOutcome(outcome, nil)
}

// admitted returns what becomes of an action: on a deleted subject, an action that would
// set a state clears it instead.
func (m *modelState) admitted(a storage.Action) storage.Action {
	if m.erased[a.Subject] && a.Sets() {
		return a.Cleared()
	}
	return a
}

// repeats reports whether an action on a deleted subject only repeated a state that had
// been set and is not swept yet. Such an action changes no count, so that the transaction
// does not notice the deletion, unless another action does.
func (m *modelState) repeats(a storage.Action, applied []storage.StateChange) bool {
	if !m.erased[a.Subject] || !a.Sets() {
		return false
	}
	for _, change := range applied {
		version := change.Version
		if change.Kind == storage.KindReaction {
			version = change.Register.Set
		}
		isSet := change.Reaction != storage.NoReaction || change.FolderID != "" || change.Following
		if isSet && version == a.Version && change.User == a.User && change.Subject == a.Subject && change.Kind == a.Kind {
			m.equal("a state that is set on a deleted subject, which was set before",
				[]any{change.Reaction, change.FolderID, change.Following}, []any{change.OldReaction, change.OldFolderID, change.OldFollowing})
			return true
		}
	}
	return false
}

// sweep clears a few states on deleted subjects. Which ones depends on the store.
func (m *modelState) sweep() {
	_, outcome, err := m.w.s.SweepDeleted(m.w.Context(), rapid.IntRange(1, 3).Draw(m.T, "limit"), nil)
	m.wantError("SweepDeleted", err, nil)
	for _, change := range outcome.Applied {
		key := storage.StateKey{User: change.User, Subject: change.Subject}
		s := m.state(key)
		m.equal("a swept subject is deleted", m.erased[change.Subject], true)
		m.equal("the state before", []any{change.OldReaction, change.OldFolderID, change.OldFollowing}, ofKind(s, change.Kind))
		a := storage.Action{User: change.User, Subject: change.Subject, Kind: change.Kind}
		switch change.Kind {
		case storage.KindReaction:
			a.Version = s.Liked.Version + 1
		case storage.KindCollection:
			a.Version = s.CollectionVersion + 1
		default:
			a.Version = s.FollowVersion + 1
		}
		m.apply(a)
	}
	m.checkOutcome(outcome, nil)
}
