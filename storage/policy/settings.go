package policy

import (
	"strings"

	"ovation/storage"
)

// Interaction is something that a user can do with a subject.
type Interaction uint8

// The interactions. Their inverses (such as unlike) have no settings: a signed-in user may
// always take back what was done before.
const (
	Read Interaction = iota
	Like
	Dislike
	Collect
	Follow
	Comment
)

// Interactions is the number of interactions.
const Interactions = int(Comment) + 1

var interactionNames = [Interactions]string{"read", "like", "dislike", "collect", "follow", "comment"}

// String returns the name of the interaction as in the file, for example "like".
func (i Interaction) String() string { return interactionNames[i] }

// Who is a set of viewers, as in the file: one of the constants below, or "scope:" followed
// by the name of a scope.
type Who string

// The values of Who that are not scopes.
const (
	Anyone Who = "anyone" // also anonymous viewers
	Users  Who = "users"  // all signed-in viewers
	None   Who = "none"
	Public Who = "public" // all viewers, of what is shown
	Author Who = "author" // the author of the subject, of what is shown
)

const scopePrefix = "scope:"

// Scope returns the name of the scope that a token must have, and whether w is a scope.
func (w Who) Scope() (name string, is bool) { return strings.CutPrefix(string(w), scopePrefix) }

// windowNames holds the names of storage.TrendWindows, in the same order.
var windowNames = []string{"HOUR", "DAY", "WEEK"}

// Windows is a set of windows.
type Windows uint8

// Has reports whether a window is in the set.
func (s Windows) Has(w storage.TrendWindow) bool { return s&(1<<w) != 0 }

// Trending configures the trends of one kind of content.
type Trending struct {
	Windows Windows           // for which trends are computed; 0 turns trends off
	Weights [Interactions]int // of each interaction, -MaxWeight to MaxWeight
}

// MaxWeight is the maximum absolute value of a weight.
const MaxWeight = 1000

// Settings holds the settings of one kind of content (biz) of one tenant. It is immutable.
type Settings struct {
	// Known is false if the file neither lists the kind nor allows unknown ones. Nothing
	// may then be recorded.
	Known bool
	// Allow states who may do what: Users, None, a scope or, for Read only, Anyone.
	Allow [Interactions]Who
	// MaxCommentRunes is the maximum length of a comment, in code points.
	MaxCommentRunes int
	// PerMinute is the number of interactions per minute of one user or, for anonymous
	// reads, of one address, through one node; 0 means no limit.
	PerMinute [Interactions]int
	// Counts and Likers state who, besides the author of a subject, sees its counts and
	// the users who like it: Public, Author or a scope.
	Counts Who
	Likers Who
	// Trending configures trends.
	Trending Trending
	// Events is true if changes are logged as events.
	Events bool
}

// builtin holds the settings without a file.
var builtin = Settings{
	Known:           true,
	Allow:           [Interactions]Who{Read: Anyone, Like: Users, Dislike: Users, Collect: Users, Follow: Users, Comment: Users},
	MaxCommentRunes: storage.MaxCommentRunes,
	Counts:          Public,
	Likers:          Public,
	Trending: Trending{
		Windows: 1<<storage.TrendHour | 1<<storage.TrendDay | 1<<storage.TrendWeek,
		Weights: [Interactions]int{Read: 1, Like: 5, Collect: 10, Follow: 10, Comment: 10},
	},
	Events: true,
}

// kept holds the kinds of content that the site creates by itself. They are always known.
var kept = []string{storage.BizUser, storage.BizComment, storage.BizVideo}

// Policy holds the settings of all tenants. It is immutable. A nil *Policy is that of a
// site without a file: everything is allowed and public.
type Policy struct {
	top     tenant
	tenants map[string]tenant
	listed  int // number of kinds of content that the top of the file lists
	// hidesCounts and hidesLikers are true if there are counts or likers that are not
	// public, so that the common case needs no look-up.
	hidesCounts, hidesLikers bool
}

// tenant holds the settings of one tenant.
type tenant struct {
	others *Settings // of every kind that is not in biz
	biz    map[string]*Settings
}

// Of returns the settings of a kind of content of a tenant. The caller must not change
// them.
func (p *Policy) Of(tenant, biz string) *Settings {
	if p == nil {
		return &builtin
	}
	of := &p.top
	if own, has := p.tenants[tenant]; has {
		of = &own
	}
	if s := of.biz[biz]; s != nil {
		return s
	}
	return of.others
}

// HidesCounts reports whether any counts are not public.
func (p *Policy) HidesCounts() bool { return p != nil && p.hidesCounts }

// HidesLikers reports whether any likers are not public.
func (p *Policy) HidesLikers() bool { return p != nil && p.hidesLikers }

// Size returns how many tenants have settings of their own, and how many kinds of content
// the top of the file lists.
func (p *Policy) Size() (tenants, kinds int) { return len(p.tenants), p.listed }

// scan sets hidesCounts and hidesLikers.
func (p *Policy) scan(of tenant) {
	note := func(s *Settings) {
		p.hidesCounts = p.hidesCounts || s.Counts != Public
		p.hidesLikers = p.hidesLikers || s.Likers != Public
	}
	note(of.others)
	for _, s := range of.biz {
		note(s)
	}
}
