package resolvers

import (
	"context"

	"ovation/resolvers/viewer"
	"ovation/storage"
)

// This file decides who may see what, for resolvers and for what loads ahead of
// them; everything else asks it.
//
//   - Anonymous viewers see subjects and their counts, and may record reads. All
//     else needs a viewer.
//   - Nothing of another tenant is visible.
//   - Likes are public; dislikes and reads are visible to their user only.
//   - A folder is visible to its owner and, where it is public, to others. An
//     item is as visible as its folder.

// authenticated returns the viewer, or errUnauthenticated for the anonymous.
func authenticated(ctx context.Context) (storage.User, error) {
	me := viewer.From(ctx)
	return me, signedIn(me)
}

func signedIn(me storage.User) error {
	if me.Anonymous() {
		return errUnauthenticated
	}
	return nil
}

// mayDo: anonymous viewers may read.
func mayDo(me storage.User, kind storage.Kind) error {
	if kind == storage.KindRead {
		return nil
	}
	return signedIn(me)
}

// ownFolderKey is the key of a folder that is the viewer's if it exists.
func ownFolderKey(ctx context.Context, argument, id string) (storage.FolderKey, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return storage.FolderKey{}, err
	}
	ref, err := storage.ParseNodeID(id)
	if err != nil || ref.Type != storage.NodeFolder || ref.User != me {
		return storage.FolderKey{}, notFound(argument)
	}
	return ref.FolderKey(), nil
}

// admits reports whether what an id names may be looked up for the viewer. If it
// is then visible, sees decides.
func admits(me storage.User, ref storage.NodeRef) (bool, error) {
	if ref.Type == storage.NodeInteractive {
		return ref.Subject.Tenant == me.Tenant, nil
	}
	if err := signedIn(me); err != nil {
		return false, err
	}
	return ref.User.Tenant == me.Tenant && (ref.Type != storage.NodeRead || ref.User == me), nil
}

// sees reports whether an object that was looked up is there and visible to the
// viewer. Of an item ask about its folder.
func sees(me storage.User, object storage.Node) bool {
	switch of := object.(type) {
	case *storage.Interactive:
		return of != nil && of.Tenant == me.Tenant
	case *storage.Folder:
		return of != nil && of.VisibleTo(me)
	case *storage.Liked:
		return of != nil && (of.User == me || of.Reaction == storage.Like)
	case *storage.Read:
		return of != nil && of.User == me
	}
	return false
}

// seesLikers: who likes a subject is visible to viewers.
func seesLikers(me storage.User, _ *storage.Interactive) error { return signedIn(me) }

// seesReads: what a user has read is visible to that user.
func seesReads(me storage.User, of *storage.User) error {
	if me != *of {
		return notFound("what somebody else has read")
	}
	return nil
}

// publicFoldersOnly reports whether the viewer sees the public ones of a user's
// folders only.
func publicFoldersOnly(me storage.User, of *storage.User) bool { return me != *of }
