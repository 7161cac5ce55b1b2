package storage

import "context"

// Difference is a stored count that differs from the recount.
type Difference struct {
	Subject Subject   // set for a count of a subject
	Folder  FolderKey // set for the item count of a folder
	User    User      // set for a total of a user
	// Conversation is set for the numbers of messages of a conversation.
	Conversation ConversationKey
	// Count is the name of the count. For a subject, it is readCount, readerCount,
	// likeCount, dislikeCount, collectCount, followerCount or commentCount; for a folder,
	// itemCount; for a conversation, unread or received (the running number of the latest
	// message that its owner has received); for a user, likes, following, collections,
	// comments, works or likesReceived. For a comment, as a subject, it may also be
	// replyCount, topCount (the copy of its likeCount that the order Top follows) or
	// listed (1 if lists include it, otherwise 0).
	//
	// It is "deleted" for a deleted subject that should be queued for a sweep and is not:
	// Stored is 0 and Counted 1. If repair is true, Verify queues the subject.
	//
	// It is commentVersion if the version of a subject's comments is below the version of
	// one of these comments; Counted is then the highest version among the comments.
	//
	// It is "folder" for a folder that does not exist and yet holds items: Stored is 0,
	// and Counted the number of items. If repair is true, Verify moves the items to the
	// default folder.
	Count   string
	Stored  int64
	Counted int64
}

// Verifier recounts the stored counts.
type Verifier interface {
	// Verify recounts everything in one snapshot and calls report for each difference, in
	// the order of the keys. If repair is true, it also sets the stored count to the
	// counted one and increases the subject's version by one. It returns how many counts
	// it compared. If report returns an error, Verify stops and returns that error.
	Verify(ctx context.Context, repair bool, report func(Difference) error) (int64, error)
}
