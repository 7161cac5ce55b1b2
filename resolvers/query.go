package resolvers

import (
	"context"
	"fmt"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/storage"
)

const (
	maxSubjects = 100
	maxNodes    = 100
)

func (r queryResolver) Interactive(ctx context.Context, biz, bizID string) (*storage.Interactive, error) {
	subject, err := subjectOf(ctx, biz, bizID)
	if err != nil {
		return nil, err
	}
	return loaders.Interactives.Load(ctx, subject)
}

func (r queryResolver) Interactives(ctx context.Context, inputs []*graph.SubjectInput) ([]*storage.Interactive, error) {
	if len(inputs) > maxSubjects {
		return nil, badInput("subjects holds %d entries; at most %d are allowed", len(inputs), maxSubjects)
	}
	subjects, err := subjectsOf(ctx, inputs)
	if err != nil {
		return nil, err
	}
	return loaders.Interactives.LoadMany(ctx, subjects)
}

func (r queryResolver) Viewer(ctx context.Context) (*storage.User, error) {
	user := viewer.FromContext(ctx)
	if user.Anonymous() {
		return nil, nil //nolint:nilnil // null is the answer
	}
	return &user, nil
}

func (r queryResolver) User(ctx context.Context, userID string) (*storage.User, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return nil, err
	}
	if err := storage.ValidateUserID(userID); err != nil {
		return nil, err
	}
	return &storage.User{Tenant: me.Tenant, UserID: userID}, nil
}

func (r queryResolver) Folder(ctx context.Context, id string) (*storage.Folder, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return nil, err
	}
	ref, err := storage.ParseNodeID(id)
	if admitted, _ := admits(me, ref); err != nil || ref.Type != storage.NodeFolder || !admitted {
		return nil, nil //nolint:nilnil,nilerr // null is the answer
	}
	return visibleFolder(ctx, me, ref.FolderKey())
}

// subjectOf returns a validated subject of the viewer's tenant.
func subjectOf(ctx context.Context, biz, bizID string) (storage.Subject, error) {
	subject := storage.Subject{Tenant: viewer.FromContext(ctx).Tenant, Biz: biz, BizID: bizID}
	return subject, subject.Validate()
}

func subjectsOf(ctx context.Context, inputs []*graph.SubjectInput) ([]storage.Subject, error) {
	subjects := make([]storage.Subject, len(inputs))
	for i, input := range inputs {
		var err error
		if subjects[i], err = subjectOf(ctx, input.Biz, input.BizID); err != nil {
			return nil, atPath(fmt.Sprintf("subjects[%d].", i), err)
		}
	}
	return subjects, nil
}
