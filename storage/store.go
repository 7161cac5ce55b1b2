package storage

import (
	"context"
	"time"
)

// Store combines all roles. An adapter implements all of them; a package that uses a
// store requires only the roles that it needs. All methods are safe for concurrent use.
// Methods that take many keys return the results in the order of the keys.
//
// Every method may return ErrUnavailable.
type Store interface {
	Reader
	Lister
	Persister
	Folders
	Histories
	Comments
	Accounts
	DirectMessages
	Videos
	Searches
	Deletions
	Archives
	Erasures
	Verifier
	// Secret returns the 32 random bytes that belong to a name. They are generated when
	// they are first requested and are the same for every process that uses the store.
	Secret(ctx context.Context, name string) ([]byte, error)
	// Ping checks that the store answers.
	Ping(ctx context.Context) error
	// Close releases all resources. Later calls to any other method fail. Close may be
	// called twice.
	Close() error
}

// Reader looks up objects by key.
type Reader interface {
	// Interactives returns the counts of each subject and the viewer's states of the
	// given kinds. The anonymous viewer has no states. An unknown subject has zero
	// counts. Subjects may repeat. All subjects must be of the viewer's tenant; otherwise
	// the error is ErrInvalid.
	Interactives(ctx context.Context, viewer User, subjects []Subject, kinds Kinds) ([]Interactive, error)
	// States returns, for each key, the states of the given kinds that the key's user
	// has on the key's subject. If the user and the subject of a key are of different
	// tenants, the error is ErrInvalid.
	States(ctx context.Context, keys []StateKey, kinds Kinds) ([]States, error)
	// FoldersOf returns the folder for each key, or nil if there is none. A default
	// folder that does not exist yet is returned as it would be created now. The caller
	// checks visibility.
	FoldersOf(ctx context.Context, keys []FolderKey) ([]*Folder, error)
	// TotalsOf returns the totals of each user, or zeros for an unknown user.
	TotalsOf(ctx context.Context, users []User) ([]UserTotals, error)
}

// Position is a position in a sorted list: the position of the entry that has these
// values in the columns by which the list is sorted. The zero Position is before the
// first entry.
type Position struct {
	// Version is the value by which a list is sorted first. For likes, follows and items,
	// it is the version of the state; for friends, the version of the follow in the list
	// that is searched; for likes by users who are followed, that of the follow; for reads, Last; for works, Since; for folders, Created; for
	// videos and messages, the number; for conversations, the number of the latest
	// message; for comments, the number or, in the order Top, the like count; in a search,
	// the number of the video or the id of the account.
	Version int64
	// Biz is set only in lists of subjects, and in lists that are found by searching the
	// user's follows.
	Biz string
	// ID breaks ties: it is the bizId, the id of the user or the id of the folder. In
	// lists of comments in the order Top, it is the id of the comment; in a search, it is
	// the word of the index, by which the list is sorted first. It is empty if Version is
	// unique.
	ID string
}

// Page selects up to First entries that follow After.
type Page struct {
	After Position
	First int // at least 1
}

// MaxListScan is the maximum number of rows that a list query examines for one page,
// unless First is larger. The bound matters if a filter (Biz) has no index of its own:
// rows that the filter rejects count as well.
const MaxListScan = 500

// MaxScan is the maximum number of rows that are examined for this page.
func (p Page) MaxScan() int { return max(p.First, MaxListScan) }

// ListPage is a page of a list.
type ListPage[E any] struct {
	Entries []E
	// Resume is the position to continue from if MaxListScan rows were examined before
	// the page was full. More entries may follow it, and it need not be the position of
	// an entry. It is zero if the page is full or the list has ended.
	Resume Position
	// Version is the point from which a reader that follows changes continues: the page
	// includes every change up to this version. For a list of one subject's comments or
	// replies, it is CommentCount.Version; for a list of conversations, it is the number
	// of the owner's latest message. It is 0 for all other lists; a list that spans
	// subjects has no such version.
	Version int64
}

// The list queries. Each is comparable, so that it can serve as a key in a batch.
type (
	// LikersQuery lists the likes on a subject.
	LikersQuery struct {
		Subject Subject
		Page
	}
	// LikesQuery lists a user's likes. If Biz is set, only likes on subjects of that biz
	// are listed.
	LikesQuery struct {
		User User
		Biz  string
		Page
	}
	// ItemsQuery lists the items of a folder.
	ItemsQuery struct {
		Folder FolderKey
		Page
	}
	// FoldersQuery lists a user's folders, optionally only the public ones.
	FoldersQuery struct {
		Owner      User
		PublicOnly bool
		Page
	}
	// FollowersQuery lists the followers of a subject.
	FollowersQuery struct {
		Subject Subject
		Page
	}
	// FollowingQuery lists a user's follows. If Biz is set, only follows of subjects of
	// that biz are listed.
	FollowingQuery struct {
		User User
		Biz  string
		Page
	}
	// FriendsQuery lists the users whom a user follows and who follow the user back. It
	// searches the user's follows or the user's followers, whichever list is shorter
	// according to the user's totals. The list is chosen for the first page. A later
	// page continues in the list that its position comes from; only a position among
	// follows has a Biz.
	FriendsQuery struct {
		User User
		Page
	}
	// FollowedLikersQuery lists the likes on a subject by users whom User follows, in the
	// order in which User has followed them, newest first.
	FollowedLikersQuery struct {
		User    User
		Subject Subject // of the same tenant as User
		Page
	}
	// ReadsQuery lists a user's read history. If Biz is set, only reads of subjects of
	// that biz are listed.
	ReadsQuery struct {
		User User
		Biz  string
		Page
	}
)

// Lister pages through lists. Each method answers many queries in one call.
//
// Every list is newest first: by version, then by biz, then by id, all descending.
// Folders are sorted by their creation, reads by the last read, friends by the follow in
// the list that is searched, likes by followed users by the follow, works by the time when
// they became the user's, and trends by the score.
//
// An entry that does not change while a list is paged through appears exactly once, even
// if other entries are written in the meantime. The number of rows that a query examines
// is bounded (MaxListScan): a page may be short, or empty, and still have a position to
// resume from. Access rights are not checked.
type Lister interface {
	Likers(ctx context.Context, queries []LikersQuery) ([]ListPage[Liked], error)
	Likes(ctx context.Context, queries []LikesQuery) ([]ListPage[Liked], error)
	Items(ctx context.Context, queries []ItemsQuery) ([]ListPage[Collected], error)
	ListFolders(ctx context.Context, queries []FoldersQuery) ([]ListPage[Folder], error)
	Reads(ctx context.Context, queries []ReadsQuery) ([]ListPage[Read], error)
	Followers(ctx context.Context, queries []FollowersQuery) ([]ListPage[Followed], error)
	Following(ctx context.Context, queries []FollowingQuery) ([]ListPage[Followed], error)
	Friends(ctx context.Context, queries []FriendsQuery) ([]ListPage[Friend], error)
	FollowedLikers(ctx context.Context, queries []FollowedLikersQuery) ([]ListPage[FollowedLike], error)
	Works(ctx context.Context, queries []WorksQuery) ([]ListPage[Work], error)
	Trending(ctx context.Context, queries []TrendingQuery) ([]ListPage[Trend], error)
}

// StateChange is a state that a transaction has changed.
type StateChange struct {
	User    User
	Subject Subject
	Kind    Kind
	// The values before and after the change. Only the values that belong to Kind are
	// set.
	OldReaction, Reaction   Reaction
	OldFolderID, FolderID   string
	OldFollowing, Following bool
	// Version is the version of the latest action that the state includes. It is 0 if the
	// state is no longer stored, because a user was erased (Erasures).
	Version int64
	// Register is everything that is stored about a state of KindReaction. The field
	// Reaction is then Register.Value, and the field Version is Register.Version().
	Register Register
}

// Include merges an action of KindReaction into the change.
func (c *StateChange) Include(r Register) {
	c.Register = c.Register.Join(r)
	c.Reaction, c.Version = c.Register.Value, c.Register.Version()
}

// ChangesOf returns the changes that coalesced actions request, one for each state. The
// old values are not set. No action may be a declaration or of a kind that adds up.
func ChangesOf(coalesced []Action) []StateChange {
	out := make([]StateChange, 0, len(coalesced))
	for i := range coalesced {
		a := &coalesced[i]
		if i == 0 || compareState(&coalesced[i-1], a) != 0 {
			out = append(out, StateChange{User: a.User, Subject: a.Subject, Kind: a.Kind, FolderID: a.FolderID, Following: a.Following, Version: a.Version})
		}
		if a.Kind == KindReaction {
			out[len(out)-1].Include(RegisterOf(a))
		}
	}
	return out
}

// SubjectCounts holds the counts of one subject.
type SubjectCounts struct {
	Subject Subject
	Counts
}

// Outcome is the result of one transaction.
type Outcome struct {
	// Applied holds the latest value of each state that an action in a new message
	// addressed. For a state that did not change, the old value equals the new value.
	// States of KindAuthor and of kinds that add up are not included. Entries are in the
	// order of Coalesce.
	Applied []StateChange
	// Counts holds the new counts of each subject with a changed state or author. It also
	// holds the current counts of the subjects in skipped messages, because the process
	// that persisted such a message may have died before it published the counts. Entries
	// are in the order of tenant, biz and bizId.
	Counts []SubjectCounts
	// Skipped is the number of messages that had been persisted before.
	Skipped int
	// Changed is what the message with a Request has changed: the number of states that
	// have another value, plus the number of its reads. If its actions were persisted
	// before, Changed is the earlier result, or UnknownChanges.
	Changed int64
	// Expired holds the ids of messages that were not persisted because they are too old.
	// A message expires if it was published more than MaxMessageAge ago, by the store's
	// clock, is not in the inbox and contains actions that add up. It may have been
	// persisted before.
	Expired []string
	// Refused holds the elements of an Archive that were not restored.
	Refused []Refusal
	// Epoch is the mirror's epoch in which a mirror.Database commits the transaction. It
	// is 0 if no epoch is open; there is then nothing to mark.
	Epoch int64
	// At is when the transaction was about to commit, by the clock of this process. Only
	// a mirror.Database sets it, after it has called the Mark; in the Outcome that is
	// passed to the Mark, At is zero.
	At time.Time
}

// UnknownChanges is the value of Outcome.Changed if the message was persisted before
// without its Request, by way of a queue, or longer ago than RequestAge.
const UnknownChanges = -1

// Mark is called within a transaction, when all rows are written and locked, just before
// the transaction commits. An error rolls the transaction back. It may be called again
// with another Outcome when a transaction is retried.
type Mark func(ctx context.Context, outcome Outcome) error

// Persister makes actions durable.
type Persister interface {
	// Persist applies, in one transaction, every message that is not in the inbox and has
	// not expired. States take the highest version, and reactions are merged by Register.
	// Counts and users' totals change only by what actually changes in the states. Each
	// subject with a changed state or author gets the next version of its counts. The
	// same call may be repeated at any time.
	//
	// If an action collects a subject into a folder that was deleted after the action,
	// the subject goes to the folder that the items of the deleted folder were moved to.
	// If these items were uncollected instead, the action uncollects the subject. In
	// both cases, the state gets the version of the action. A collection into any other
	// missing folder goes to the user's default folder, which is created if necessary.
	//
	// The comments of a new message are added in the order of their times. Their ids are
	// chosen so that the order of all comments by id follows their times, except for
	// small deviations where many comments have almost the same time. However, a comment
	// whose time is ahead of the store's clock gets a current id.
	//
	// All actions and comments must be valid (Message.Validate). If one is not, the error
	// is an *InvalidError and nothing is persisted. So it is if the id of a Request was used
	// for another request within RequestAge. Message.RefuseDeleted adds another error. The
	// function mark may be nil.
	Persist(ctx context.Context, messages []Message, mark Mark) (Outcome, error)
	// Seen reports for each message id whether that message was persisted.
	Seen(ctx context.Context, ids []string) ([]bool, error)
	// Prune removes the ids of messages that have been persisted for longer than age, by
	// the store's clock, and returns how many ids it removed. Ids that are kept forever
	// stay. Prune also removes the records of folders that have been deleted for longer
	// than age, of clears whose Until is longer ago than that, of requests older than
	// RequestAge, and of users who were erased longer than ErasedAge ago.
	Prune(ctx context.Context, age time.Duration) (int64, error)
}

// MaxFolderHops is the maximum number of times that a collection is redirected from a
// deleted folder to the folder that its items were moved to. After that, the collection
// goes to the default folder.
const MaxFolderHops = 20

// Folders creates, changes and deletes folders. Changes are committed before a method
// returns.
type Folders interface {
	// CreateFolder creates a folder and returns it. If the owner has no default folder
	// yet, the default folder is created first. Owner, Name, Description, Public and
	// Created are taken from the argument. Errors: ErrInvalid, ErrNameTaken,
	// ErrTooManyFolders.
	CreateFolder(ctx context.Context, folder Folder) (*Folder, error)
	// UpdateFolder changes a folder as of the given time and returns it. The default
	// folder is created if necessary. Errors: ErrInvalid, ErrNotFound, ErrNameTaken.
	UpdateFolder(ctx context.Context, key FolderKey, change FolderChange, at time.Time) (*Folder, error)
	// EmptyFolder moves up to limit items from a folder to the same owner's folder moveTo
	// or, if moveTo is empty, uncollects them. It runs in one transaction and calls mark,
	// as Persist does. The version of each item increases by 1, so that later actions of
	// the owner that are still queued remain newer. EmptyFolder returns the number of
	// items that left the folder; if it is less than limit, the folder is empty. If
	// moveTo is a default folder that does not exist yet, it is created as of the given
	// time. Errors: ErrNotFound for either folder, ErrInvalid if both are the same
	// folder.
	EmptyFolder(ctx context.Context, key FolderKey, moveTo string, at time.Time, limit int, mark Mark) (int, Outcome, error)
	// DeleteFolder removes an empty folder as of the given time. It records moveTo, the
	// folder to which EmptyFolder moved the items. If an older action that collects an
	// item into the removed folder is still queued, that item goes to moveTo, too.
	// Errors: ErrNotFound for either folder, ErrDefaultFolder, ErrFolderNotEmpty,
	// ErrInvalid if moveTo is the same folder.
	DeleteFolder(ctx context.Context, key FolderKey, moveTo string, at time.Time) error
}

// CommentReader looks up comments.
type CommentReader interface {
	// CommentsOf returns the comment for each key, or nil if the comment is not listed.
	CommentsOf(ctx context.Context, keys []CommentKey) ([]*Comment, error)
	// CommentCounts returns the CommentCount of each subject, or zeros for an unknown
	// subject.
	CommentCounts(ctx context.Context, subjects []Subject) ([]CommentCount, error)
	// ListComments pages through listed comments.
	ListComments(ctx context.Context, queries []CommentsQuery) ([]ListPage[Comment], error)
	// UserComments pages through the comments of users. A user's comments are as many as
	// UserTotals.Comments.
	UserComments(ctx context.Context, queries []UserCommentsQuery) ([]ListPage[Comment], error)
	// CommentChanges returns changed comments. A comment that changed twice is returned
	// once, in its current state.
	CommentChanges(ctx context.Context, query CommentChangesQuery) ([]Comment, error)
}

// Comments stores comments. Changes are committed before a method returns, and are then
// visible to every later call to any store on the same database.
type Comments interface {
	CommentReader
	// AddComments adds comments in one transaction, in the given order, and returns the
	// result for each comment. A comment that cannot be added does not prevent others
	// from being added. AddedComment.Err is ErrInvalid if a value is invalid, if the
	// comment is a reply to a reply, or if the request id was used for another comment.
	// It is ErrNotFound if the comment that is replied to does not exist, is deleted, or
	// is on another subject, or if the subject is deleted (Deletions).
	//
	// Repeating a call without request ids adds the comments again.
	AddComments(ctx context.Context, comments []NewComment) ([]AddedComment, error)
	// EditComment changes the text of a comment, and its editor if that is not its author,
	// and returns the comment. Errors:
	// ErrInvalid; ErrNotFound if the comment does not exist or is deleted, or if the user
	// may not change it.
	EditComment(ctx context.Context, change CommentChange, text string) (*Comment, error)
	// DeleteComment removes the text and the author of a comment and returns the rest. A
	// deleted comment disappears from all lists when its last reply is deleted. Errors:
	// ErrNotFound as for EditComment. It also deletes the comment as a subject (Deletions).
	DeleteComment(ctx context.Context, change CommentChange) (*Comment, error)
}

// DirectMessageReader looks up messages. The caller checks that the viewer may see them.
type DirectMessageReader interface {
	// ConversationsOf returns the conversation for each key, or nil if the conversation
	// has no message.
	ConversationsOf(ctx context.Context, keys []ConversationKey) ([]*Conversation, error)
	// MessagesOf returns the message for each key, or nil if there is none.
	MessagesOf(ctx context.Context, keys []DirectMessageKey) ([]*DirectMessage, error)
	// ListConversations pages through conversations. A conversation that gets a message
	// while the list is paged through moves to the front.
	ListConversations(ctx context.Context, queries []ConversationsQuery) ([]ListPage[Conversation], error)
	// ListMessages pages through messages.
	ListMessages(ctx context.Context, queries []DirectMessagesQuery) ([]ListPage[DirectMessage], error)
	// LatestMessages returns the number of the latest message that each user has sent or
	// received, or 0 if there is none.
	LatestMessages(ctx context.Context, users []User) ([]int64, error)
	// MessagesAfter returns the messages that a user has sent and received. Messages that
	// are not committed yet get higher numbers than the returned messages.
	MessagesAfter(ctx context.Context, query MailboxQuery) ([]DirectMessage, error)
}

// DirectMessages stores messages. Changes are committed before a method returns, and are
// then visible to every later call to any store on the same database.
type DirectMessages interface {
	DirectMessageReader
	// AddMessages adds messages in one transaction, in the given order, and returns the
	// result for each message. A message that cannot be added does not prevent others
	// from being added. AddedDirectMessage.Err is ErrInvalid if a value is invalid, or
	// if the request id was used for something else.
	//
	// Repeating a call without request ids adds the messages again.
	AddMessages(ctx context.Context, messages []NewDirectMessage) ([]AddedDirectMessage, error)
	// MarkRead marks the messages up to the number upTo as read and returns the
	// conversation. The number upTo need not belong to a message; any number above that
	// of the latest message stands for the latest message. Read messages stay read.
	// Errors: ErrNotFound if the conversation has no message.
	MarkRead(ctx context.Context, key ConversationKey, upTo int64) (*Conversation, error)
}
