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

	"ovation/api/viewer"
	"ovation/storage"
)

const (
	ownSubjects     = 8  // subjects of each client that no other client acts on
	hotSubjects     = 12 // subjects that all clients act on
	followedClients = 8  // clients that other clients may follow
	pageSize        = 10
)

// subject is a subject that clients act on.
type subject struct{ biz, id string }

func (s subject) input() string { return fmt.Sprintf(`biz: %q, bizId: %q`, s.biz, s.id) }

// client is one user. It sends one request after another, each to a random node, and
// records its actions.
type client struct {
	installation      *installation
	name              string
	token             string
	folderID          string // the id of the client's folder
	random            *rand.Rand
	subjects          []subject // the subjects that the client acts on, its own subjects first
	permanentSubjects int       // number of leading subjects that are never replaced; the rest are comments
	expected          map[subject]expectation
	latestVersions    map[versionKey]int64 // the latest version that each node has returned
	unmirrored        map[subject]unmirrored
	commented         []subject            // the subjects that the client comments on
	ownComments       []*ownComment        // all comments by the client, including deleted ones
	replyTargets      map[subject][]string // the ids of comments that the client may reply to
	ownMessages       []*ownMessage        // all messages that the client sent
	journal           []journalEntry
}

// unmirrored represents an action that a node acknowledged, although the node could not
// write the action to Redis and no worker had persisted it. Until a worker has persisted
// the action, other nodes may lack it. This is a known limitation of the mirror
// (docs/invariants.md).
type unmirrored struct {
	node  *process
	since time.Time
}

const (
	persistWait     = 300 * time.Millisecond // how long a node without Redis waits for a worker before it replies
	maxPersistDelay = 2 * time.Second        // how long a lagging worker may take to persist the action
)

type versionKey struct {
	node *process
	subject
}

// journalEntry is one request and its outcome.
type journalEntry struct {
	sentAt        time.Time
	elapsed       time.Duration
	node          string
	operation     string
	subject       subject
	detail        string
	needsDatabase bool          // the request needs the database
	mayBeNotFound bool          // NOT_FOUND is a valid reply
	maxDuration   time.Duration // the maximum duration; if 0, maxDelay and maxRequestDuration apply (see checkOutcome)
	code          string        // the code of the error, or "" if the request succeeded
	changed       bool
	durability    string
	shown         *subjectView
}

func (s *installation) newClient(n int, seed uint64) *client {
	c := &client{
		installation: s, name: fmt.Sprintf("user-%d", n), random: rand.New(rand.NewPCG(seed, uint64(n))),
		expected: map[subject]expectation{}, latestVersions: map[versionKey]int64{}, replyTargets: map[subject][]string{}, unmirrored: map[subject]unmirrored{},
	}
	c.token = tokenOf(c.name)
	for i := range ownSubjects {
		c.subjects = append(c.subjects, subject{"own", fmt.Sprintf("%s-%d", c.name, i)})
	}
	for i := range hotSubjects {
		c.subjects = append(c.subjects, subject{"hot", fmt.Sprint(i)})
	}
	c.commented = slices.Concat(c.subjects[:commentedSubjects], c.subjects[ownSubjects:ownSubjects+commentedSubjects])
	for i := range followedClients {
		if i != n { // users cannot follow themselves
			c.subjects = append(c.subjects, subject{"user", fmt.Sprintf("user-%d", i)})
		}
	}
	for _, sub := range c.subjects {
		c.expected[sub] = untouched
	}
	c.permanentSubjects = len(c.subjects)
	return c
}

func tokenOf(user string) string {
	token, err := viewer.Sign([]byte(secret), storage.User{Tenant: storage.DefaultTenant, UserID: user}, 2*time.Hour)
	if err != nil {
		panic(err) // unreachable: the test chooses valid users
	}
	return token
}

// sendRandomRequest sends one random request.
func (c *client) sendRandomRequest() {
	node := c.installation.node(c.random.IntN(2))
	switch n := c.random.IntN(100); {
	case n < 54:
		c.mutate(node)
	case n < 62:
		c.changeComment(node)
	case n < 67:
		c.readComments(node)
	case n < 70:
		c.sendNewMessage(node)
	case n < 72:
		c.readConversation(node)
	case n < 97:
		c.readPage(node)
	default:
		c.readList(node)
	}
}

var mutations = []string{
	"like", "like", "unlike", "dislike", "undislike", "collect", "collect", "uncollect", "read", "read", "follow", "follow", "unfollow",
}

// collectIntoFolder is the name that the journal uses for a collect into a folder.
// Because of the folder, it is the only action that needs the database.
const collectIntoFolder = "collect into the box"

func (c *client) mutate(node *process) {
	sub := c.subjects[c.random.IntN(len(c.subjects))]
	act := clientAction{mutation: mutations[c.random.IntN(len(mutations))], folder: stateInDefault}
	what, folder := act.mutation, ""
	if act.mutation == "collect" && c.random.IntN(2) == 0 {
		what = collectIntoFolder
		act.folder, folder = stateInFolder, fmt.Sprintf(`, folderId: %q`, c.folderID)
	}
	query := fmt.Sprintf(`mutation { did: %s(input: {%s%s}) { changed durability interactive { %s } } }`, act.mutation, sub.input(), folder, subjectFields)
	var got struct {
		Did struct {
			Changed     *bool
			Durability  string
			Interactive subjectView
		}
	}
	before, cutOff := c.expected[sub], node.links[redis].isStopped()
	code := c.execute(node, journalEntry{operation: what, subject: sub}, query, &got)
	cutOff = cutOff || node.links[redis].isStopped() // in the meantime
	if code != "" {
		c.expected[sub] = before.afterUnknown(act)
		return
	}
	c.expected[sub] = before.apply(act)
	changed := got.Did.Changed == nil || *got.Did.Changed
	last := &c.journal[len(c.journal)-1]
	switch {
	case act.mutation == "read":
	case changed && got.Did.Durability == "QUEUED" && cutOff && last.elapsed >= persistWait:
		c.unmirrored[sub] = unmirrored{node, time.Now()}
	case !changed && c.mayLackAction(node, sub):
		c.expected[sub] = before.afterUnknown(act)
	case changed:
		delete(c.unmirrored, sub)
	}
	last.changed, last.durability, last.shown = changed, got.Did.Durability, &got.Did.Interactive
	switch {
	case got.Did.Durability != "QUEUED" && got.Did.Durability != "PERSISTED":
		c.installation.violationf("durability", c, "%s of %v is %q, want QUEUED or PERSISTED", act.mutation, sub, got.Did.Durability)
	case got.Did.Durability == "PERSISTED" && act.mutation != "read" && (changed || c.random.IntN(8) == 0):
		c.installation.checkPersisted(c, sub, act)
	}
	c.checkView(node, sub, &got.Did.Interactive)
}

// readPage requests a page of subjects that the client acts on, chosen at random, and one
// subject without any actions.
func (c *client) readPage(node *process) {
	page := []subject{{"cold", fmt.Sprint(c.random.IntN(1 << 30))}}
	for len(page) < pageSize {
		page = append(page, c.subjects[c.random.IntN(len(c.subjects))])
	}
	got, code := c.fetchPage(node, page)
	if code != "" {
		return
	}
	if g := &got[0]; g.counts != (counts{}) || g.Liked != nil || g.Collected != nil || g.Followed != nil || g.Read != nil {
		c.installation.violationf("invented", c, "%+v of a subject without any actions", got[0])
	}
	for i := range got[1:] {
		c.checkView(node, page[1+i], &got[1+i])
	}
}

// fetchPage requests subjects in one query.
func (c *client) fetchPage(node *process, subjects []subject) (page []subjectView, code string) {
	var query strings.Builder
	query.WriteString(`{ interactives(subjects: [`)
	for _, sub := range subjects {
		fmt.Fprintf(&query, `{%s} `, sub.input())
	}
	fmt.Fprintf(&query, `]) { %s } }`, subjectFields)
	var got struct{ Interactives []subjectView }
	code = c.execute(node, journalEntry{operation: "page"}, query.String(), &got)
	if code == "" && len(got.Interactives) != len(subjects) {
		c.installation.violationf("page", c, "got %[2]d subjects, want %[1]d", len(subjects), len(got.Interactives))
		code = "SHORT"
	}
	return got.Interactives, code
}

const viewerLikesQuery = `{ viewer { userId likes(first: 5) { edges { node { at } } } } }`

// readList requests a list, which only the database can provide.
func (c *client) readList(node *process) {
	var got struct{ Viewer struct{ UserID string } }
	c.execute(node, journalEntry{operation: "list", needsDatabase: true}, viewerLikesQuery, &got)
}

// checkView compares a node's reply about a subject with the client's expectation.
func (c *client) checkView(node *process, sub subject, s *subjectView) {
	if s.Biz != sub.biz || s.BizID != sub.id {
		c.installation.violationf("page", c, "got %+[2]v, want %[1]v", sub, *s)
		return
	}
	c.installation.updatePhase(func(p *phase) { p.byFreshness[s.Freshness]++ })
	key := versionKey{node, sub}
	switch s.Freshness {
	case "LIVE":
		mismatch := c.expected[sub].mismatch(s, sub.biz == "own")
		if strings.HasPrefix(mismatch, ownMismatchPrefix) && c.mayLackAction(node, sub) {
			c.installation.updatePhase(func(p *phase) { p.lackingReplies++ })
			return
		}
		if mismatch != "" {
			c.installation.violationf(mismatch, c, "%v on %s: known %+v, shown %s", sub, node.name, c.expected[sub], describe(s))
		}
	case "STALE":
	case "UNAVAILABLE":
		if s.counts != (counts{}) { // the reply may still contain the viewer's own states
			c.installation.violationf("invented", c, "the counts are UNAVAILABLE, but the reply is %s", describe(s))
		}
		return
	default:
		c.installation.violationf("freshness", c, "%v is %q, want LIVE, STALE or UNAVAILABLE", sub, s.Freshness)
	}
	if before := c.latestVersions[key]; s.Version < before {
		c.installation.violationf("backwards", c, "%v on %s was at %d, now %s", sub, node.name, before, describe(s))
	}
	c.latestVersions[key] = max(c.latestVersions[key], s.Version)
}

// mayLackAction reports whether a node may lack an action on sub that another node has
// acknowledged.
func (c *client) mayLackAction(node *process, sub subject) bool {
	u, ok := c.unmirrored[sub]
	if !ok || u.node == node {
		return false
	}
	now := time.Now()
	elapsed := now.Sub(u.since)
	return elapsed < maxPersistDelay || elapsed-c.installation.pauses.durationBetween(u.since, now) < maxPersistDelay
}

func describe(s *subjectView) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// execute sends an operation, records its outcome and returns a code. The code is "" for
// success, the code of an error that the API returned, NODE if the node was killed, and
// the text of any other error.
func (c *client) execute(node *process, e journalEntry, query string, into any) string {
	from := c.installation.currentPhase()
	e.sentAt, e.node = time.Now(), node.name
	err := post(node, c.token, query, into)
	e.elapsed = time.Since(e.sentAt)
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
	c.installation.checkOutcome(c, from, &e)
	return e.code
}

// apiError is an error that the API returned.
type apiError struct{ code, message string }

func (e *apiError) Error() string { return e.code + ": " + e.message }

var (
	// clientHTTP holds the clients' connections. A request that times out fails the test;
	// see also maxRequestDuration.
	clientHTTP = &http.Client{Timeout: waitTimeout / 2, Transport: &http.Transport{MaxIdleConnsPerHost: 100, IdleConnTimeout: 2 * time.Second}}
	probeHTTP  = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100, IdleConnTimeout: 2 * time.Second}}
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
	response, err := clientHTTP.Do(request)
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
