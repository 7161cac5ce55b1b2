package enforce

import (
	"context"
	"fmt"

	"ovation/api/viewer"
	"ovation/storage"
	"ovation/storage/policy"
)

// store hides counts and likes.
type store struct {
	storage.Store
	Enforcer
}

// Store returns a Store that hides from the viewer of each call what the policy does not
// show. The viewer is that of the context.
func (e Enforcer) Store(next storage.Store) storage.Store { return store{next, e} }

// Interactives returns subjects, with counts only if the viewer sees them.
func (s store) Interactives(ctx context.Context, me storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	found, err := s.Store.Interactives(ctx, me, subjects, kinds)
	if p := s.policies.In(ctx); p.HidesCounts() {
		for i := range found {
			redact(ctx, p, me, &found[i])
		}
	}
	return found, err
}

// States returns states, without likes that the viewer does not see.
func (s store) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	found, err := s.Store.States(ctx, keys, kinds)
	if p := s.policies.In(ctx); p.HidesLikers() && err == nil {
		likes := make([]*storage.Liked, len(found))
		for i := range found {
			likes[i] = found[i].Liked
		}
		if err := s.hide(ctx, p, likes); err != nil {
			return nil, err
		}
		for i := range found {
			if likes[i] == nil && found[i].Liked != nil {
				found[i].Liked, found[i].Reaction = nil, storage.Register{}
			}
		}
	}
	return found, err
}

// Trending returns lists of trends. A list is empty if the viewer does not see the counts
// of such subjects, because a score reveals how they change, or if the window is off.
func (s store) Trending(ctx context.Context, queries []storage.TrendingQuery) ([]storage.ListPage[storage.Trend], error) {
	p := s.policies.In(ctx)
	pages, err := s.Store.Trending(ctx, queries)
	if p == nil || err != nil {
		return pages, err
	}
	for i := range queries {
		settings := p.Of(queries[i].Tenant, queries[i].Biz)
		if !sees(ctx, storage.User{}, "", settings.Counts) || !settings.Trending.Windows.Has(queries[i].Window) {
			pages[i] = storage.ListPage[storage.Trend]{}
		}
	}
	return pages, nil
}

// Likers returns the likes on subjects, without those that the viewer does not see.
func (s store) Likers(ctx context.Context, queries []storage.LikersQuery) ([]storage.ListPage[storage.Liked], error) {
	pages, err := s.Store.Likers(ctx, queries)
	return visible(ctx, s, pages, err, func(i int) int { return queries[i].First }, itself,
		func(l *storage.Liked) storage.Position {
			return storage.Position{Version: l.Version, ID: l.User.UserID}
		})
}

// Likes returns the likes of users, without those that the viewer does not see.
func (s store) Likes(ctx context.Context, queries []storage.LikesQuery) ([]storage.ListPage[storage.Liked], error) {
	pages, err := s.Store.Likes(ctx, queries)
	return visible(ctx, s, pages, err, func(i int) int { return queries[i].First }, itself, func(l *storage.Liked) storage.Position {
		return storage.Position{Version: l.Version, Biz: l.Subject.Biz, ID: l.Subject.BizID}
	})
}

// FollowedLikers returns the likes on subjects by users whom the viewer follows, without
// those that the viewer does not see.
func (s store) FollowedLikers(ctx context.Context, queries []storage.FollowedLikersQuery) ([]storage.ListPage[storage.FollowedLike], error) {
	pages, err := s.Store.FollowedLikers(ctx, queries)
	return visible(ctx, s, pages, err, func(i int) int { return queries[i].First },
		func(l *storage.FollowedLike) *storage.Liked { return &l.Liked }, func(l *storage.FollowedLike) storage.Position { return l.Position })
}

func itself(l *storage.Liked) *storage.Liked { return l }

// visible removes the likes that the viewer does not see from pages. A full page that has
// become shorter can be resumed after its last entry (ListPage.Resume).
func visible[E any](
	ctx context.Context, s store, pages []storage.ListPage[E], err error, first func(i int) int, liked func(*E) *storage.Liked, place func(*E) storage.Position,
) ([]storage.ListPage[E], error) {
	p := s.policies.In(ctx)
	if err != nil || !p.HidesLikers() {
		return pages, err
	}
	var likes []*storage.Liked
	for i := range pages {
		for k := range pages[i].Entries {
			likes = append(likes, liked(&pages[i].Entries[k]))
		}
	}
	if err := s.hide(ctx, p, likes); err != nil {
		return nil, err
	}
	for i := range pages {
		page := &pages[i]
		entries, shown := page.Entries, make([]E, 0, len(page.Entries))
		for k := range entries {
			if likes[k] != nil {
				shown = append(shown, entries[k])
			}
		}
		likes = likes[len(entries):]
		if page.Entries = shown; len(shown) < len(entries) && len(entries) == first(i) {
			page.Resume = place(&entries[len(entries)-1])
		}
	}
	return pages, nil
}

// hide replaces the likes that the viewer does not see by nil. It looks up the authors of
// subjects by at most one call.
func (s store) hide(ctx context.Context, p *policy.Policy, likes []*storage.Liked) error {
	me := viewer.FromContext(ctx)
	var doubtful []int // indexes of likes that only the author of the subject sees
	var subjects []storage.Subject
	for i, like := range likes {
		if like == nil || like.User == me || sees(ctx, me, "", p.Of(like.Subject.Tenant, like.Subject.Biz).Likers) {
			continue
		}
		doubtful = append(doubtful, i)
		if n := len(subjects); n == 0 || subjects[n-1] != like.Subject {
			subjects = append(subjects, like.Subject)
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	var found []storage.Interactive
	if !me.Anonymous() {
		var err error
		if found, err = s.Store.Interactives(ctx, me, subjects, 0); err != nil {
			return err
		}
	}
	mine := map[storage.Subject]bool{}
	for i := range found {
		if found[i].Freshness == storage.Unavailable {
			return fmt.Errorf("look up the authors of liked subjects: %w", storage.ErrUnavailable)
		}
		mine[found[i].Subject] = found[i].AuthorID == me.UserID
	}
	for _, i := range doubtful {
		if !mine[likes[i].Subject] {
			likes[i] = nil
		}
	}
	return nil
}
