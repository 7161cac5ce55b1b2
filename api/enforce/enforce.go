package enforce

import (
	"context"
	"fmt"

	"ovation/api/codes"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/storage"
	"ovation/storage/policy"
	"ovation/worker"
)

// The parts of the write path that are decorated, as the APIs need them.
type (
	// Recorder makes actions durable.
	Recorder interface {
		Record(ctx context.Context, action storage.Action, seen *storage.Interactive) (worker.Recorded, error)
	}
	// Comments adds and changes comments.
	Comments interface {
		Add(ctx context.Context, comment storage.NewComment) (*storage.Comment, error)
		Edit(ctx context.Context, change storage.CommentChange, text string) (*storage.Comment, error)
		Delete(ctx context.Context, change storage.CommentChange) (*storage.Comment, error)
	}
	// Authors declares the authors of subjects.
	Authors interface {
		Declare(ctx context.Context, declared []storage.Action) ([]storage.SubjectCounts, error)
	}
	// Batches records actions on behalf of users.
	Batches interface {
		Record(ctx context.Context, batch storage.ActionBatch) (worker.RecordedBatch, error)
	}
)

// Enforcer applies the policy of a Handle. Its zero value applies none.
//
// The errors of its decorators carry a code of package codes and a message for the client
// (*gqlerror.Error), except for texts that are too long (*storage.InvalidError).
type Enforcer struct{ policies *policy.Handle }

// New returns an Enforcer. The Handle may be nil.
func New(policies *policy.Handle) Enforcer { return Enforcer{policies} }

// Begin returns the context of an operation that begins now. All that is done in it sees
// the same policy.
func (e Enforcer) Begin(ctx context.Context) context.Context { return e.policies.Pin(ctx) }

// permit returns an error unless the viewer may do something with a kind of content, and
// then takes it from the viewer's rate limit.
func (e Enforcer) permit(ctx context.Context, subject storage.Subject, do policy.Interaction) error {
	settings := e.policies.In(ctx).Of(subject.Tenant, subject.Biz)
	if err := allowed(ctx, settings, subject.Biz, do); err != nil {
		return err
	}
	if wait := rate.FromContext(ctx).TakeAction(subject.Biz, do.String(), settings.PerMinute[do]); wait > 0 {
		return rate.Error(wait)
	}
	return nil
}

func allowed(ctx context.Context, settings *policy.Settings, biz string, do policy.Interaction) error {
	if err := known(settings, biz); err != nil {
		return err
	}
	who := settings.Allow[do]
	switch {
	case who == policy.Anyone:
		return nil
	case who == policy.None:
		return codes.Errorf(codes.BadUserInput, "biz %s takes no %s on this site", biz, plural[do])
	case viewer.FromContext(ctx).Anonymous():
		return codes.Errorf(codes.Unauthenticated, "%s of biz %s need a signed-in user", plural[do], biz)
	}
	if scope, is := who.Scope(); is && !viewer.HasScope(ctx, scope) {
		return codes.Errorf(codes.Unauthenticated, "%s of biz %s need a token whose scope holds %s", plural[do], biz, scope)
	}
	return nil
}

var plural = [policy.Interactions]string{"reads", "likes", "dislikes", "collections", "follows", "comments"}

// known returns an error if nothing may be recorded for a kind of content.
func known(settings *policy.Settings, biz string) error {
	if settings.Known {
		return nil
	}
	return codes.Errorf(codes.BadUserInput, "biz %s is not known to this site", biz)
}

// interaction returns what an action does. It returns false for an action that only takes
// back what was done before.
func interaction(a *storage.Action) (do policy.Interaction, is bool) {
	switch a.Kind {
	case storage.KindRead:
		return policy.Read, true
	case storage.KindReaction:
		if a.Reaction == storage.Dislike {
			return policy.Dislike, true
		}
		return policy.Like, a.Reaction == storage.Like
	case storage.KindCollection:
		return policy.Collect, a.FolderID != ""
	case storage.KindFollow:
		return policy.Follow, a.Following
	default:
		return 0, false
	}
}

type recorder struct {
	Enforcer

	next Recorder
}

// Recorder returns a Recorder that refuses what the policy does not allow.
func (e Enforcer) Recorder(next Recorder) Recorder { return recorder{e, next} }

func (r recorder) Record(ctx context.Context, action storage.Action, seen *storage.Interactive) (worker.Recorded, error) {
	do, is := interaction(&action)
	var err error
	if is {
		err = r.permit(ctx, action.Subject, do)
	} else {
		err = known(r.policies.In(ctx).Of(action.Subject.Tenant, action.Subject.Biz), action.Subject.Biz)
	}
	if err != nil {
		return worker.Recorded{}, err
	}
	recorded, err := r.next.Record(ctx, action, seen)
	if err == nil && seen != nil {
		r.Redact(ctx, action.User, seen)
	}
	return recorded, err
}

type comments struct {
	Enforcer
	Comments

	reader storage.CommentReader
}

// Comments returns Comments that refuse what the policy does not allow. The reader looks up
// comments that are edited.
func (e Enforcer) Comments(next Comments, reader storage.CommentReader) Comments {
	return comments{e, next, reader}
}

func (c comments) Add(ctx context.Context, comment storage.NewComment) (*storage.Comment, error) {
	if err := c.fits(ctx, comment.Subject, comment.Text); err != nil {
		return nil, err
	}
	if err := c.permit(ctx, comment.Subject, policy.Comment); err != nil {
		return nil, err
	}
	return c.Comments.Add(ctx, comment)
}

// Edit changes a comment. An edit does not count for the rate limit of comments.
func (c comments) Edit(ctx context.Context, change storage.CommentChange, text string) (*storage.Comment, error) {
	found, err := c.reader.CommentsOf(ctx, []storage.CommentKey{change.Key})
	if err != nil {
		return nil, err
	}
	if found[0] != nil {
		subject := found[0].Subject
		if err := c.fits(ctx, subject, text); err != nil {
			return nil, err
		}
		if err := allowed(ctx, c.policies.In(ctx).Of(subject.Tenant, subject.Biz), subject.Biz, policy.Comment); err != nil {
			return nil, err
		}
	}
	return c.Comments.Edit(ctx, change, text)
}

// fits returns an *InvalidError if a text is too long for a comment on a subject. The
// general rules for texts are checked later, by the storage.
func (c comments) fits(ctx context.Context, subject storage.Subject, text string) error {
	most := c.policies.In(ctx).Of(subject.Tenant, subject.Biz).MaxCommentRunes
	if most == storage.MaxCommentRunes {
		return nil
	}
	_, err := storage.CleanText("text", text, most)
	return err
}

type authors struct {
	Enforcer

	next Authors
}

// Authors returns Authors that refuse subjects of unknown kinds.
func (e Enforcer) Authors(next Authors) Authors { return authors{e, next} }

// Declare declares authors. The result has no subject whose counts are hidden.
func (a authors) Declare(ctx context.Context, declared []storage.Action) ([]storage.SubjectCounts, error) {
	p := a.policies.In(ctx)
	for i := range declared {
		if of := declared[i].Subject; !p.Of(of.Tenant, of.Biz).Known {
			return nil, &storage.InvalidError{Field: fmt.Sprintf("input.subjects[%d].biz", i), Reason: "is not known to this site"}
		}
	}
	changed, err := a.next.Declare(ctx, declared)
	if !p.HidesCounts() {
		return changed, err
	}
	visible := changed[:0:0]
	for _, one := range changed {
		if sees(ctx, viewer.FromContext(ctx), one.AuthorID, p.Of(one.Subject.Tenant, one.Subject.Biz).Counts) {
			visible = append(visible, one)
		}
	}
	return visible, err
}

type batches struct {
	Enforcer

	next Batches
}

// Batches returns Batches that refuse what no user may do. The back end that sends a batch
// answers for its users, so neither scopes nor limits apply.
func (e Enforcer) Batches(next Batches) Batches { return batches{e, next} }

func (b batches) Record(ctx context.Context, batch storage.ActionBatch) (worker.RecordedBatch, error) {
	p := b.policies.In(ctx)
	for i := range batch.Actions {
		a := &batch.Actions[i]
		settings, reason := p.Of(a.Subject.Tenant, a.Subject.Biz), ""
		if do, is := interaction(a); is && settings.Allow[do] == policy.None {
			reason = "must be a kind that takes " + plural[do] + " on this site"
		}
		if !settings.Known && a.Subject != (storage.Subject{}) {
			reason = "is not known to this site"
		}
		if reason != "" {
			return worker.RecordedBatch{}, &storage.InvalidError{Field: fmt.Sprintf("actions[%d].biz", i), Reason: reason}
		}
	}
	return b.next.Record(ctx, batch)
}

// sees reports whether a viewer sees what is shown to the given viewers and to the author
// of the subject.
func sees(ctx context.Context, me storage.User, authorID string, who policy.Who) bool {
	if who == policy.Public || !me.Anonymous() && me.UserID == authorID {
		return true
	}
	scope, is := who.Scope()
	return is && viewer.HasScope(ctx, scope)
}

// Redact hides the counts of a subject from a viewer who may not see them.
func (e Enforcer) Redact(ctx context.Context, me storage.User, of *storage.Interactive) {
	if p := e.policies.In(ctx); p.HidesCounts() {
		redact(ctx, p, me, of)
	}
}

func redact(ctx context.Context, p *policy.Policy, me storage.User, of *storage.Interactive) {
	if of.Freshness == storage.Unavailable || sees(ctx, me, of.AuthorID, p.Of(of.Tenant, of.Biz).Counts) {
		return
	}
	of.Counts = storage.Counts{AuthorID: of.AuthorID, Deleted: of.Deleted, Version: of.Version}
	of.Freshness = storage.Hidden
}

// HidesCounts reports whether the counts of a subject are hidden from anonymous viewers.
func (e Enforcer) HidesCounts(ctx context.Context, of storage.Subject) bool {
	p := e.policies.In(ctx)
	return p.HidesCounts() && p.Of(of.Tenant, of.Biz).Counts != policy.Public
}
