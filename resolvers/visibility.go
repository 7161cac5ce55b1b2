package resolvers

import (
	"context"
	"fmt"

	"ovation/api/codes"
	"ovation/api/viewer"
	"ovation/loaders"
	"ovation/storage"
)

// This file decides which viewers may see or change which objects. No other code decides
// that, except package enforce, for what a site's configuration hides or refuses; the
// resolvers and the prefetch call it.
//
//   - Anonymous viewers see subjects, their counts and their comments, with the
//     profiles and totals of the authors of both, videos, and what searches find. They may
//     record reads. Everything else requires a signed-in viewer.
//   - Objects of another tenant are not visible.
//   - Likes and follows are public; dislikes and reads are visible to their user only.
//   - A folder is visible to its owner and, if it is public, to others. An item is
//     visible to all viewers who see its folder.
//   - Comments are public, also as the list of a user's comments. A comment's author and
//     moderators may edit it; they and the author of its subject may delete it.
//   - Authors, works and totals are public, but of the collections only those in public
//     folders. Users whose token has the scope
//     viewer.WriteSubjects may declare authors. Users whose token has the scope
//     viewer.WriteActions may record actions of any user of their tenant.
//   - Videos are public. A video's author and moderators may delete it.
//   - Profiles are public, and so are searches for users and videos. A user may change only
//     their own profile.
//   - A message is visible to its sender and receiver, and a conversation to its owner.
//
// An anonymous viewer gets UNAUTHENTICATED for what a signed-in viewer could see: what
// every signed-in viewer sees, the viewer's own lists, and objects by id, except
// subjects, videos and comments. A user's private list is NOT_FOUND for all other
// viewers, including anonymous ones. Anonymous viewers reach a user only as the author of
// a subject or comment, as the editor of a comment, by a search for the name, or in the
// payload of a login or registration: Query.user is UNAUTHENTICATED for them.

// authenticated returns the viewer, or errUnauthenticated if the viewer is anonymous.
func authenticated(ctx context.Context) (storage.User, error) {
	me := viewer.FromContext(ctx)
	return me, signedIn(me)
}

func signedIn(me storage.User) error {
	if me.Anonymous() {
		return errUnauthenticated
	}
	return nil
}

// mayDo returns an error unless the viewer may record actions of the given kind.
// Anonymous viewers may record only reads.
func mayDo(me storage.User, kind storage.Kind) error {
	if kind == storage.KindRead {
		return nil
	}
	return signedIn(me)
}

// ownFolderKey returns the key of one of the viewer's folders, whether or not the folder
// exists.
func ownFolderKey(ctx context.Context, argument, id string) (storage.FolderKey, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return storage.FolderKey{}, err
	}
	return folderKeyOf(me, argument, id)
}

// folderKeyOf returns the key of one of a user's folders, whether or not the folder exists.
func folderKeyOf(owner storage.User, argument, id string) (storage.FolderKey, error) {
	ref, err := storage.ParseNodeID(id)
	if err != nil || ref.Type != storage.NodeFolder || ref.User != owner {
		return storage.FolderKey{}, notFound(argument)
	}
	return ref.FolderKey(), nil
}

// admits reports whether the object that a ref identifies may be looked up for the
// viewer. For a folder, a comment, a reaction, a read or a follow, a call to sees decides
// after the lookup whether the object exists and is visible. An item is as visible as its
// folder. Objects of all other types are visible if they are admitted and exist.
func admits(me storage.User, ref storage.NodeRef) (bool, error) {
	if ref.Type == storage.NodeInteractive {
		return ref.Subject.Tenant == me.Tenant, nil
	}
	if ref.Type == storage.NodeVideo {
		return ref.Video.Tenant == me.Tenant, nil
	}
	if ref.Type == storage.NodeComment {
		return ref.Comment.Tenant == me.Tenant, nil
	}
	if err := signedIn(me); err != nil {
		return false, err
	}
	if ref.Type == storage.NodeMessage {
		return ref.Message.Between(me), nil
	}
	if ref.Type == storage.NodeConversation {
		return ref.Conversation.Owner == me, nil
	}
	return ref.User.Tenant == me.Tenant && (ref.Type != storage.NodeRead || ref.User == me), nil
}

// sees reports whether an object exists and is visible to the viewer. It returns false
// for an item; the caller must check the item's folder instead.
func sees(me storage.User, object storage.Node) bool {
	switch of := object.(type) {
	case *storage.Interactive:
		return of != nil && of.Tenant == me.Tenant
	case *storage.Folder:
		return of != nil && of.VisibleTo(me)
	case *storage.Comment:
		return of != nil && of.Subject.Tenant == me.Tenant
	case *storage.Video:
		return of != nil && of.Author.Tenant == me.Tenant
	case *storage.DirectMessage:
		return of != nil && of.Key().Between(me)
	case *storage.Conversation:
		return of != nil && of.Owner == me
	case *storage.Liked:
		return of != nil && (of.User == me || of.Reaction == storage.Like)
	case *storage.Followed:
		return of != nil
	case *storage.Read:
		return of != nil && of.User == me
	}
	return false
}

// seesLikers returns nil if the viewer may see the likers of a subject. The likers are
// visible to signed-in viewers.
func seesLikers(me storage.User, _ *storage.Interactive) error { return signedIn(me) }

// seesFollowers returns nil if the viewer may see the followers of a subject. The
// followers are visible to signed-in viewers.
func seesFollowers(me storage.User, _ *storage.Interactive) error { return signedIn(me) }

// seesUser returns nil if the viewer may see a user's likes, follows, followers, friends,
// works, videos and folders. All of these are visible to signed-in viewers.
func seesUser(me storage.User, _ *storage.User) error { return signedIn(me) }

// seenTotals returns a user's totals as the viewer sees them. They are public, except that
// other viewers see only the collections in public folders.
func seenTotals(me, of storage.User, totals storage.UserTotals) storage.UserTotals {
	if me != of {
		totals.Collections = totals.PublicCollections
	}
	return totals
}

// seesOwn returns nil if a private list belongs to the viewer and the viewer is signed
// in. If the list belongs to another user, seesOwn returns a NOT_FOUND error with the
// given message. If the viewer and the list's user are both anonymous, it returns
// errUnauthenticated.
func seesOwn(me storage.User, of *storage.User, message string) error {
	if me != *of {
		return &problem{codes.NotFound, message}
	}
	return signedIn(me)
}

// seesReads returns nil if the viewer may see a user's reads. The reads are visible to
// that user only.
func seesReads(me storage.User, of *storage.User) error {
	return seesOwn(me, of, "what a user has read is visible to that user only")
}

// seesConversations returns nil if the viewer may see a user's conversations. The
// conversations are visible to that user only.
func seesConversations(me storage.User, of *storage.User) error {
	return seesOwn(me, of, "a user's conversations are visible to that user only")
}

// seesMessages returns nil if the viewer may see the messages of a conversation. The
// messages are visible to the conversation's owner only.
func seesMessages(me storage.User, of *storage.Conversation) error {
	return seesConversations(me, &of.Owner)
}

// conversationWith returns the key of the viewer's conversation with a user. The
// parameter argument is the name of the GraphQL argument that holds userID; it is used in
// error messages.
func conversationWith(ctx context.Context, argument, userID string) (storage.ConversationKey, error) {
	return conversationOf(viewer.FromContext(ctx), argument, userID)
}

func conversationOf(me storage.User, argument, userID string) (storage.ConversationKey, error) {
	key := storage.ConversationKey{Owner: me, With: storage.User{Tenant: me.Tenant, UserID: userID}}
	if err := signedIn(me); err != nil {
		return key, err
	}
	if err := key.Validate(); err != nil {
		return key, inArgument(argument, err)
	}
	return key, nil
}

// conversationOfFriends returns the key of the conversation between two friends. If the
// viewer is neither of the two, visible is false.
func conversationOfFriends(me storage.User, f *storage.Friend) (key storage.ConversationKey, visible bool) {
	switch me {
	case f.Of:
		return storage.ConversationKey{Owner: me, With: f.User}, true
	case f.User:
		return storage.ConversationKey{Owner: me, With: f.Of}, true
	}
	return key, false
}

// moderates reports whether the viewer may change the comments of other users.
func moderates(ctx context.Context) bool { return viewer.HasScope(ctx, viewer.Moderate) }

// ownsSubject reports whether the user who deletes a comment is the author of the
// comment's subject.
func ownsSubject(ctx context.Context, change storage.CommentChange) (bool, error) {
	comment, err := loaders.Comments.Load(ctx, change.Key)
	if err != nil || !sees(change.By, comment) {
		return false, err
	}
	subject, err := loaders.Interactives.Load(ctx, comment.Subject)
	if err == nil && subject.Freshness == storage.Unavailable { // the author is unknown
		err = fmt.Errorf("look up the author of a subject: %w", storage.ErrUnavailable)
	}
	return err == nil && subject.AuthorID != "" && subject.AuthorID == change.By.UserID, err
}

// mayWrite returns the viewer, or an error unless the viewer's token has the given scope:
// viewer.WriteSubjects to declare authors, or viewer.WriteActions to record the actions of
// other users of the tenant.
func mayWrite(ctx context.Context, scope string) (storage.User, error) {
	me, err := authenticated(ctx)
	if err == nil && !viewer.HasScope(ctx, scope) {
		err = errNoScope(scope)
	}
	return me, err
}

// commentKey returns the key of a comment of the viewer's tenant, whether or not the
// comment exists.
func commentKey(ctx context.Context, argument, id string) (storage.CommentKey, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return storage.CommentKey{}, err
	}
	ref, err := storage.ParseNodeID(id)
	if err != nil || ref.Type != storage.NodeComment || ref.Comment.Tenant != me.Tenant {
		return storage.CommentKey{}, notFound(argument)
	}
	return ref.Comment, nil
}

// publicFoldersOnly reports whether the viewer sees only a user's public folders.
func publicFoldersOnly(me storage.User, of *storage.User) bool { return me != *of }
