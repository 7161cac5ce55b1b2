//go:build long

package faults_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"ovation/resolvers/viewer"
	"ovation/storage"
)

const (
	ownSubjects = 8  // of each client, which nobody else acts on
	hotSubjects = 12 // on which all act
	people      = 8  // clients who are followed by the others
	pageSize    = 10
)

// subject is one that clients act on.
type subject struct{ biz, id string }

func (s subject) input() string { return fmt.Sprintf(`biz: %q, bizId: %q`, s.biz, s.id) }

// client is one user. It sends one request after the other, on one node or the other, and
// remembers what it has done.
type client struct {
	site         *site
	name         string
	token        string
	box          string // the id of a folder of its own
	random       *rand.Rand
	subjects     []subject // its own ones first
	lasting      int       // the number of subjects that stay; the rest are comments
	known        map[subject]expectation
	versions     map[versionKey]int64 // the latest seen
	unmirrored   map[subject]unmirrored
	commented    []subject            // that it comments on
	ownComments  []*ownComment        // all its comments that ever were
	replyTargets map[subject][]string // the ids of comments that it may reply to
	ownMessages  []*ownMessage        // all its messages
	journal      []entry
}

// unmirrored is an action that a node acknowledged although it could not write it to Redis
// and no worker persisted it in time. Until a worker has, other nodes may lack the
// action: a known limit of the mirror (docs/invariants.md).
type unmirrored struct {
	on    *process
	until time.Time
}

const (
	awaitTime   = 300 * time.Millisecond // for which such a node waits for a worker
	persistTime = 2 * time.Second        // by then even a worker that lags has persisted it
)

type versionKey struct {
	node *process
	subject
}

// entry is one request and what became of it.
type entry struct {
	at         time.Time
	took       time.Duration
	node       string
	what       string
	subject    subject
	about      string
	direct     bool          // the request needs the database
	mayMiss    bool          // NOT_FOUND is a valid reply
	limit      time.Duration // how long it may take; 0: see judge
	code       string        // the code of an error
	changed    bool
	durability string
	shown      *shown
}

func (s *site) newClient(n int, seed uint64) *client {
	c := &client{
		site: s, name: fmt.Sprintf("user-%d", n), random: rand.New(rand.NewPCG(seed, uint64(n))),
		known: map[subject]expectation{}, versions: map[versionKey]int64{}, replyTargets: map[subject][]string{}, unmirrored: map[subject]unmirrored{},
	}
	c.token = tokenOf(c.name)
	for i := range ownSubjects {
		c.subjects = append(c.subjects, subject{"own", fmt.Sprintf("%s-%d", c.name, i)})
	}
	for i := range hotSubjects {
		c.subjects = append(c.subjects, subject{"hot", fmt.Sprint(i)})
	}
	c.commented = slices.Concat(c.subjects[:commentedSubjects], c.subjects[ownSubjects:ownSubjects+commentedSubjects])
	for i := range people {
		if i != n { // nobody follows themselves
			c.subjects = append(c.subjects, subject{"user", fmt.Sprintf("user-%d", i)})
		}
	}
	for _, sub := range c.subjects {
		c.known[sub] = untouched
	}
	c.lasting = len(c.subjects)
	return c
}

func tokenOf(user string) string {
	token, err := viewer.Sign([]byte(secret), storage.User{Tenant: storage.DefaultTenant, UserID: user}, 2*time.Hour)
	if err != nil {
		panic(err) // the test chooses its users
	}
	return token
}

// act sends one random request.
func (c *client) act() {
	node := c.site.node(c.random.IntN(2))
	switch n := c.random.IntN(100); {
	case n < 54:
		c.mutate(node)
	case n < 62:
		c.comment(node)
	case n < 67:
		c.readComments(node)
	case n < 70:
		c.write(node)
	case n < 72:
		c.checkConversation(node)
	case n < 97:
		c.readPage(node)
	default:
		c.list(node)
	}
}

var mutations = []string{
	"like", "like", "unlike", "dislike", "undislike", "collect", "collect", "uncollect", "read", "read", "follow", "follow", "unfollow",
}

// collectIntoFolder is the one mutation that needs the database: it names a folder.
const collectIntoFolder = "collect into the box"

func (c *client) mutate(node *process) {
	sub := c.subjects[c.random.IntN(len(c.subjects))]
	d := action{mutation: mutations[c.random.IntN(len(mutations))], folder: inDefault}
	what, folder := d.mutation, ""
	if d.mutation == "collect" && c.random.IntN(2) == 0 {
		what = collectIntoFolder
		d.folder, folder = inBox, fmt.Sprintf(`, folderId: %q`, c.box)
	}
	query := fmt.Sprintf(`mutation { did: %s(input: {%s%s}) { changed durability interactive { %s } } }`, d.mutation, sub.input(), folder, fields)
	var got struct {
		Did struct {
			Changed     *bool
			Durability  string
			Interactive shown
		}
	}
	before, cutOff := c.known[sub], node.links[redis].hanging()
	code := c.ask(node, entry{what: what, subject: sub}, query, &got)
	if code != "" {
		c.known[sub] = before.afterUnknown(d)
		return
	}
	c.known[sub] = before.apply(d)
	changed := got.Did.Changed == nil || *got.Did.Changed
	last := &c.journal[len(c.journal)-1]
	switch {
	case d.mutation == "read":
	case changed && got.Did.Durability == "QUEUED" && cutOff && last.took >= awaitTime:
		c.unmirrored[sub] = unmirrored{node, time.Now().Add(persistTime)}
	case !changed && c.mayMiss(node, sub):
		c.known[sub] = before.afterUnknown(d)
	case changed:
		delete(c.unmirrored, sub)
	}
	last.changed, last.durability, last.shown = changed, got.Did.Durability, &got.Did.Interactive
	switch {
	case got.Did.Durability != "QUEUED" && got.Did.Durability != "PERSISTED":
		c.site.violationf("durability", c, "%s of %v is %q, want QUEUED or PERSISTED", d.mutation, sub, got.Did.Durability)
	case got.Did.Durability == "PERSISTED" && d.mutation != "read" && (changed || c.random.IntN(8) == 0):
		c.site.checkPersisted(c, sub, d)
	}
	c.check(node, sub, &got.Did.Interactive)
}

// readPage reads a page: some of the client's own subjects, some hot ones, and one on which
// nobody has acted.
func (c *client) readPage(node *process) {
	page := []subject{{"cold", fmt.Sprint(c.random.IntN(1 << 30))}}
	for len(page) < pageSize {
		page = append(page, c.subjects[c.random.IntN(len(c.subjects))])
	}
	got, code := c.page(node, page)
	if code != "" {
		return
	}
	if g := &got[0]; g.counts != (counts{}) || g.Liked != nil || g.Collected != nil || g.Followed != nil || g.Read != nil {
		c.site.violationf("invented", c, "%+v of a subject that nobody has touched", got[0])
	}
	for i := range got[1:] {
		c.check(node, page[1+i], &got[1+i])
	}
}

// page reads subjects.
func (c *client) page(node *process, subjects []subject) (page []shown, code string) {
	var query strings.Builder
	query.WriteString(`{ interactives(subjects: [`)
	for _, sub := range subjects {
		fmt.Fprintf(&query, `{%s} `, sub.input())
	}
	fmt.Fprintf(&query, `]) { %s } }`, fields)
	var got struct{ Interactives []shown }
	code = c.ask(node, entry{what: "page"}, query.String(), &got)
	if code == "" && len(got.Interactives) != len(subjects) {
		c.site.violationf("page", c, "%d subjects were asked for and %d came", len(subjects), len(got.Interactives))
		code = "SHORT"
	}
	return got.Interactives, code
}

const likesOfViewer = `{ viewer { userId likes(first: 5) { edges { node { at } } } } }`

// list reads a list. Only the database holds lists.
func (c *client) list(node *process) {
	var got struct{ Viewer struct{ UserID string } }
	c.ask(node, entry{what: "list", direct: true}, likesOfViewer, &got)
}

// check compares what a node shows of a subject with what the client knows.
func (c *client) check(node *process, sub subject, s *shown) {
	if s.Biz != sub.biz || s.BizID != sub.id {
		c.site.violationf("page", c, "%v was asked for, %+v came", sub, *s)
		return
	}
	c.site.tally(func(p *phase) { p.fresh[s.Freshness]++ })
	key := versionKey{node, sub}
	switch s.Freshness {
	case "LIVE":
		mismatch := c.known[sub].mismatch(s, sub.biz == "own")
		if strings.HasPrefix(mismatch, notOwn) && c.mayMiss(node, sub) {
			c.site.tally(func(p *phase) { p.missing++ })
			return
		}
		if mismatch != "" {
			c.site.violationf(mismatch, c, "%v on %s: known %+v, shown %s", sub, node.name, c.known[sub], describe(s))
		}
	case "STALE":
	case "UNAVAILABLE":
		if s.counts != (counts{}) { // the viewer's own states may be known nevertheless
			c.site.violationf("invented", c, "unavailable, and yet %s", describe(s))
		}
		return
	default:
		c.site.violationf("freshness", c, "%v is %q, want LIVE, STALE or UNAVAILABLE", sub, s.Freshness)
	}
	if before := c.versions[key]; s.Version < before {
		c.site.violationf("backwards", c, "%v on %s was at %d, now %s", sub, node.name, before, describe(s))
	}
	c.versions[key] = max(c.versions[key], s.Version)
}

// mayMiss reports whether a node may lack an action that another one has acknowledged.
func (c *client) mayMiss(node *process, sub subject) bool {
	u, ok := c.unmirrored[sub]
	return ok && u.on != node && time.Now().Before(u.until)
}

func describe(s *shown) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ask sends an operation, records its outcome and returns the code of its error: the
// code of the API, NODE if the node was killed, or another text.
func (c *client) ask(node *process, e entry, query string, into any) string {
	from := c.site.currentPhase()
	e.at, e.node = time.Now(), node.name
	err := post(node, c.token, query, into)
	e.took = time.Since(e.at)
	switch failed := (*apiError)(nil); {
	case err == nil:
	case errors.As(err, &failed):
		e.code = failed.code
	case node.killed.Load():
		e.code = "NODE"
	default:
		e.code = err.Error()
	}
	c.journal = append(c.journal, e)
	c.site.judge(c, from, &e)
	return e.code
}

// apiError is an error of the API.
type apiError struct{ code, message string }

func (e *apiError) Error() string { return e.code + ": " + e.message }

var (
	// visits holds the connections of the clients. A request that times out fails the test.
	visits = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100, IdleConnTimeout: 2 * time.Second}}
	probes = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100, IdleConnTimeout: 2 * time.Second}}
)

// post sends an operation and decodes its data.
func post(node *process, token, query string, into any) error {
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, node.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := visits.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var got struct {
		Data   json.RawMessage
		Errors []struct {
			Message    string
			Extensions struct{ Code string }
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return fmt.Errorf("status %d, %q: %w", response.StatusCode, text, err)
	}
	if len(got.Errors) > 0 {
		return &apiError{got.Errors[0].Extensions.Code, got.Errors[0].Message}
	}
	return json.Unmarshal(got.Data, into)
}
