package storage

import (
	"context"
	"time"
)

// Store is every role together. An adapter implements all of them; whoever
// uses one asks for no more roles than it needs. All methods are safe for
// concurrent use, take many keys at once and answer in the order asked.
//
// Every method may return ErrUnavailable.
type Store interface {
	Reader
	Lister
	Persister
	Folders
	Verifier
	// Secret returns 32 random bytes that are made when the name is first
	// asked for and stay the same for every process on this store.
	Secret(ctx context.Context, name string) ([]byte, error)
	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
	// Close releases everything. Later calls of any method fail. It may be
	// called twice.
	Close() error
}

// Reader looks things up by key.
type Reader interface {
	// Interactives returns the counts of each subject and, of the kinds asked,
	// what the viewer did to it. The anonymous viewer did nothing. An unknown
	// subject has zero counts. Subjects may repeat; all are of the viewer's
	// tenant, anything else is ErrInvalid.
	Interactives(ctx context.Context, viewer User, subjects []Subject, kinds Kinds) ([]Interactive, error)
	// States returns what each user did to each subject, of the kinds asked.
	// A key of two tenants is ErrInvalid.
	States(ctx context.Context, keys []StateKey, kinds Kinds) ([]States, error)
	// FoldersOf returns each folder, nil where there is none. A default folder
	// that is not made yet is returned as it would be made now. Visibility is
	// the caller's matter.
	FoldersOf(ctx context.Context, keys []FolderKey) ([]*Folder, error)
}

// Position is a place in a list: of the entry with this Version (or, for
// folders, creation time) and these tie-breakers. The zero Position is the
// place before the first entry.
type Position struct {
	Version int64
	Biz     string // lists of subjects only
	ID      string // the bizId, the user's id or the folder's id
}

// Page asks for the First entries that follow After.
type Page struct {
	After Position
	First int // at least 1
}

// MaxListScan is how many rows a query of a list examines at most for one page,
// unless First is more. It matters where a filter (Biz) has no index of its own:
// rows that the filter rejects count as well.
const MaxListScan = 500

// MaxScan is how many rows are examined for this page at most.
func (p Page) MaxScan() int { return max(p.First, MaxListScan) }

// ListPage is a page of a list.
type ListPage[E any] struct {
	Entries []E
	// Resume is set where MaxListScan rows were examined before the page was
	// full. More entries may follow this position, which need not be that of an
	// entry. It is zero where the page is full and where the list has ended.
	Resume Position
}

// The lists. Each is comparable, so that it can key a batch.
type (
	// LikersQuery lists who likes a subject.
	LikersQuery struct {
		Subject Subject
		Page
	}
	// LikesQuery lists what a user likes, of one biz if it is set.
	LikesQuery struct {
		User User
		Biz  string
		Page
	}
	// ItemsQuery lists what lies in a folder.
	ItemsQuery struct {
		Folder FolderKey
		Page
	}
	// FoldersQuery lists a user's folders, the public ones only if asked.
	FoldersQuery struct {
		Owner      User
		PublicOnly bool
		Page
	}
	// ReadsQuery lists what a user has read, of one biz if it is set.
	ReadsQuery struct {
		User User
		Biz  string
		Page
	}
)

// Lister pages through lists. Each method answers many queries in one call.
// Every list is newest first: by version (folders: by creation, reads: by the
// last read), then by biz, then by id, all descending. An entry that does not
// change while a list is paged through appears exactly once, whatever else is
// written in between. The rows that a query examines are bounded (MaxListScan): a page may be
// short, or empty, and still have a position to resume from. Access rights are
// not checked.
type Lister interface {
	Likers(ctx context.Context, queries []LikersQuery) ([]ListPage[Liked], error)
	Likes(ctx context.Context, queries []LikesQuery) ([]ListPage[Liked], error)
	Items(ctx context.Context, queries []ItemsQuery) ([]ListPage[Collected], error)
	ListFolders(ctx context.Context, queries []FoldersQuery) ([]ListPage[Folder], error)
	Reads(ctx context.Context, queries []ReadsQuery) ([]ListPage[Read], error)
}

// StateChange is a state that a transaction has really changed.
type StateChange struct {
	User    User
	Subject Subject
	Kind    Kind
	// Of KindReaction and KindCollection: before and after.
	OldReaction, Reaction Reaction
	OldFolderID, FolderID string
	// Version is that of the latest action that the state includes.
	Version int64
	// Register is all that is stored of KindReaction; Reaction is its value,
	// Version its version.
	Register Register
}

// Include merges an action of KindReaction into the change.
func (c *StateChange) Include(r Register) {
	c.Register = c.Register.Join(r)
	c.Reaction, c.Version = c.Register.Value, c.Register.Version()
}

// ChangesOf returns what coalesced actions other than reads ask for, as one
// change for each state, without what was there before.
func ChangesOf(coalesced []Action) []StateChange {
	out := make([]StateChange, 0, len(coalesced))
	for i := range coalesced {
		a := &coalesced[i]
		if i == 0 || compareState(&coalesced[i-1], a) != 0 {
			out = append(out, StateChange{User: a.User, Subject: a.Subject, Kind: a.Kind, FolderID: a.FolderID, Version: a.Version})
		}
		if a.Kind == KindReaction {
			out[len(out)-1].Include(RegisterOf(a))
		}
	}
	return out
}

// SubjectCounts are the counts of one subject.
type SubjectCounts struct {
	Subject Subject
	Counts
}

// Outcome is what one transaction did.
type Outcome struct {
	// Applied has an entry for each state of KindReaction and KindCollection
	// that an action of a new message was meant for, changed or not: the latest
	// word on it. They are in the order of Coalesce; the old state of one that
	// did not change is the present one.
	Applied []StateChange
	// Counts are the new counts of each subject of which a state changed, and
	// the present ones of the subjects of skipped messages: whoever persisted
	// those may have died before anyone was told. They are in the order of
	// tenant, biz and bizId.
	Counts []SubjectCounts
	// Skipped is the number of messages that had been persisted before.
	Skipped int
	// Expired are the ids of the messages of which nothing was persisted: they
	// were published longer ago than MaxMessageAge, by the store's clock, are not
	// in the inbox and hold reads. They may have been persisted before.
	Expired []string
	// Epoch is the epoch of the mirror in which the transaction commits, 0
	// while there is none: there is nothing to mark then.
	Epoch int64
	// At is when the transaction was about to commit, by the clock of this
	// process. It is zero when Mark is called.
	At time.Time
}

// Mark is called within a transaction, when all its rows are written and
// locked, just before it commits. An error rolls the transaction back. It may
// be called again with another Outcome when a transaction is tried again.
type Mark func(ctx context.Context, outcome Outcome) error

// Persister makes actions durable.
type Persister interface {
	// Persist applies every message that is not in the inbox and has not expired,
	// in one transaction: states take the highest version and reactions are merged
	// as Register says, counts move by what the states really changed, and each
	// subject with a changed state gets its next count version. A collection into
	// a folder that was deleted later
	// goes where the items of that folder went, or nowhere where they were
	// uncollected, with the version that it has. Into any other folder that is
	// not there it goes to the user's default folder, which is made if need be.
	// The same call may be repeated at any time.
	//
	// A barrier is recorded as passed, in the same transaction, if it is the
	// latest that was raised. It does not enter the inbox and is not counted as
	// skipped.
	//
	// The actions are valid (Action.Validate); an invalid one is an
	// *InvalidError and nothing is persisted. mark may be nil.
	Persist(ctx context.Context, messages []Message, mark Mark) (Outcome, error)
	// Seen reports for each message id whether it was persisted.
	Seen(ctx context.Context, ids []string) ([]bool, error)
	// Prune forgets the ids of messages that were persisted longer ago than the
	// age, by the store's clock, except those kept forever, and returns how
	// many. It also forgets where the items of folders went that were deleted
	// longer ago.
	Prune(ctx context.Context, age time.Duration) (int64, error)
}

// MaxFolderHops is how many deletions a collection follows, from a folder to the
// one its items went to, before it goes to the default folder.
const MaxFolderHops = 20

// Folders changes folders. All of it is written before it returns.
type Folders interface {
	// CreateFolder makes a folder (and before it the owner's default one) and
	// returns it. Owner, Name, Description, Public and Created are taken from
	// the argument. Errors: ErrInvalid, ErrNameTaken, ErrTooManyFolders.
	CreateFolder(ctx context.Context, folder Folder) (*Folder, error)
	// UpdateFolder changes a folder at the given time and returns it. The
	// default folder is made if need be. Errors: ErrInvalid, ErrNotFound,
	// ErrNameTaken.
	UpdateFolder(ctx context.Context, key FolderKey, change FolderChange, at time.Time) (*Folder, error)
	// EmptyFolder moves up to limit items of a folder to another folder of the
	// same owner, or uncollects them where moveTo is empty, in one
	// transaction as Persist does, each with its version + 1: what its owner
	// did with it since, and is still on its way, stays newer. It returns how
	// many items it took; fewer than limit means that the folder is empty. A
	// default folder that is moved to is made as of the given time. Errors:
	// ErrNotFound for either folder, ErrInvalid if they are the same.
	EmptyFolder(ctx context.Context, key FolderKey, moveTo string, at time.Time, limit int, mark Mark) (int, Outcome, error)
	// DeleteFolder removes an empty folder at the given time and remembers
	// where its items went, as of EmptyFolder: a collection into it that is
	// older and still on its way then goes there, too. Errors: ErrNotFound for
	// either folder, ErrDefaultFolder, ErrFolderNotEmpty, ErrInvalid where moveTo
	// is the same folder.
	DeleteFolder(ctx context.Context, key FolderKey, moveTo string, at time.Time) error
}

// Difference is one stored count that does not equal what it counts.
type Difference struct {
	Subject Subject   // of a subject's count
	Folder  FolderKey // of a folder's item count
	// Count is readCount, likeCount, dislikeCount, collectCount or itemCount.
	// It is "folder" for a folder that does not exist and yet holds items:
	// none stored, so many counted. Repair moves them to the default folder.
	Count   string
	Stored  int64
	Counted int64
}

// Verifier recounts.
type Verifier interface {
	// Verify recounts everything as of one moment, reports each difference in
	// the order of the keys and, with repair, sets the stored count to the
	// counted one (and the subject's version one higher). It returns how many
	// counts it compared. An error of report ends it and is returned.
	Verify(ctx context.Context, repair bool, report func(Difference) error) (int64, error)
}
