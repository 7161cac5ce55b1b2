package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/bench/load"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

// The rates that authors, follows and comments must reach, as shares of the rates that
// they are compared with.
const (
	minAuthorsRatio = 0.75
	minFollowRatio  = 0.90
	minCommentRatio = 0.60
)

const (
	talkClients  = 32
	talkSubjects = 64 // subjects whose comments are requested
	talkComments = pageSize + 5
	talkBiz      = "talk"
)

// author returns the author of a subject.
func (p *people) author(subject int) string { return p.names[subject%p.viewers] }

// authorsRow compares pages that select each author, and whether the viewer follows the
// author, to pages that do not.
func authorsRow(ctx context.Context, b *bench, r *row) error {
	if err := b.declare(ctx); err != nil {
		return err
	}
	t, err := b.site.readTruth(ctx, b.people)
	if err != nil {
		return err
	}
	with, drawn := b.node, b.drawPages(pages, nil)
	with.name, with.authors = "with authors", true
	sides := []*side{&with, &b.node}
	books := []*book{with.book(b.people, t, drawn), b.node.book(b.people, t, drawn)}
	if err := b.warm(ctx, sides, books); err != nil {
		return err
	}
	var two [2]contender
	for i, s := range sides {
		two[i] = contender{name: s.name, side: s, ready: func(context.Context, int) ([]load.Client, error) {
			return books[i].pagers(talkClients, false), nil
		}}
	}
	of, err := b.compare(ctx, two)
	if err == nil {
		r.judge(of, minAuthorsRatio)
	}
	return err
}

// declare gives every subject an author.
func (b *bench) declare(ctx context.Context) error {
	token, err := viewer.Sign([]byte(b.site.secret), storage.User{Tenant: storage.DefaultTenant, UserID: "catalogue"}, time.Hour, viewer.Scope(viewer.WriteSubjects))
	if err != nil {
		return err
	}
	conn, err := load.Dial(ctx, b.node.process.address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	const most = 100 // declarations of a request
	for from := 0; from < len(b.people.of); from += most {
		var subjects []map[string]string
		for i := from; i < min(from+most, len(b.people.of)); i++ {
			subjects = append(subjects, map[string]string{"biz": biz, "bizId": b.people.subjects.names[i], "author": b.people.author(i)})
		}
		status, body, err := conn.Do(load.Post(nil, b.node.process.address, "/graphql", token, mustJSON(map[string]any{
			"query":     `mutation Declare($input: DeclareSubjectsInput!) { declareSubjects(input: $input) { durability } }`,
			"variables": map[string]any{"input": map[string]any{"subjects": subjects}},
		})))
		if err != nil || status != http.StatusOK || bytes.Contains(body, []byte(`"errors"`)) {
			return fmt.Errorf("declare authors: status %d with %.200s: %w", status, body, err)
		}
	}
	return nil
}

// followRow compares follows with likes: the same readers, the same subjects.
func followRow(ctx context.Context, b *bench, r *row) (err error) {
	// The reply has the same names as that to a like, so that it is checked in the same way.
	follow := b.node
	follow.name, follow.people = "follow", b.people.again()
	follow.query = `mutation Like($input: FollowInput!) { like: follow(input: $input) { changed durability } }`
	follow.stored = `SELECT user_id, biz_id FROM user_follow WHERE biz = '` + biz + `' AND user_id LIKE '` + readerPrefix + `%' AND state = 1`
	follow.counted = `SELECT coalesce(sum(follower_count), 0)::bigint FROM interactive WHERE biz = '` + biz + `'`
	if follow.before, err = b.counted(ctx, &follow); err != nil {
		return err
	}
	like := b.node
	like.name = "like"
	var two [2]contender
	for i, s := range []*side{&follow, &like} {
		two[i] = contender{name: s.name, side: s, after: b.drained(s), ready: func(_ context.Context, round int) ([]load.Client, error) {
			return s.likers(talkClients, b.seed+uint64(1000+10*round+i), func(*liker) {}), nil
		}}
	}
	of, err := b.compare(ctx, two)
	if err != nil {
		return err
	}
	r.judge(of, minFollowRatio)
	if err := b.check(ctx, &like); err != nil {
		return err
	}
	return b.check(ctx, &follow)
}

// commenter sends comments of random readers on subjects.
type commenter struct {
	side    *side
	random  *rand.Rand
	subject func(*rand.Rand) (biz, id string)
	acked   *atomic.Int64
	left    int // how many it has yet to add; endless below 0
}

const (
	addComment  = `mutation Say($input: AddCommentInput!) { addComment(input: $input) { comment { commentId } } }`
	commentText = "What a lovely video. I have watched it twice already, and number "
)

var addedComment = []byte(`{"data":{"addComment":{"comment":{"commentId":"`)

// Next implements load.Client.
func (c *commenter) Next(buf []byte) []byte {
	if c.left == 0 {
		return nil
	}
	c.left--
	p := c.side.people
	user := p.viewers + c.random.IntN(len(p.names)-p.viewers)
	of, id := c.subject(c.random)
	return load.Post(buf, c.side.process.address, "/graphql", p.tokens[user], mustJSON(map[string]any{
		"query": addComment, "operationName": "Say",
		"variables": map[string]any{"input": map[string]string{"biz": of, "bizId": id, "text": commentText + strconv.Itoa(c.random.IntN(1e6))}},
	}))
}

// Done implements load.Client.
func (c *commenter) Done(status int, body []byte) error {
	if status != http.StatusOK || !bytes.HasPrefix(body, addedComment) {
		return fmt.Errorf("status %d with %.200s, want %s", status, body, addedComment)
	}
	c.acked.Add(1)
	return nil
}

// commentRow compares the rate of comments with the rate at which Postgres can insert
// such rows.
func commentRow(ctx context.Context, b *bench, r *row) error {
	var acked atomic.Int64
	before, err := b.commentsThere(ctx)
	if err != nil {
		return err
	}
	popular := func(random *rand.Rand) (string, string) {
		return biz, b.people.subjects.names[b.people.subjects.draw(random)]
	}
	if _, err := b.site.database.Exec(ctx, `CREATE TABLE bare_comment (LIKE comment INCLUDING ALL)`); err != nil {
		return fmt.Errorf("make a table to insert into: %w", err)
	}
	inserted := int64(0)
	of, err := b.compare(ctx, [2]contender{
		{name: b.node.name, side: &b.node, ready: func(_ context.Context, round int) (clients []load.Client, _ error) {
			for i := range talkClients {
				random := rand.New(rand.NewPCG(b.seed+uint64(2000+round), uint64(i))) //nolint:gosec // it is meant to be the same each time
				clients = append(clients, &commenter{&b.node, random, popular, &acked, -1})
			}
			return clients, nil
		}},
		{name: "inserts", side: &side{}, replacement: func(ctx context.Context, during time.Duration) (n int64, err error) {
			for end := time.Now().Add(during); err == nil && time.Now().Before(end); n += talkClients {
				err = b.insertBatch(ctx, inserted)
				inserted += talkClients
			}
			return n, err
		}},
	})
	if err != nil {
		return err
	}
	r.judge(of, minCommentRatio)
	r.notes = append(r.notes, "The inserts are those of the same rows into a table with the same indexes, by one connection that commits each batch.")
	after, err := b.commentsThere(ctx)
	if err == nil && after != before+acked.Load() {
		err = fmt.Errorf("%d comments were acknowledged, and %d are stored, %d before", acked.Load(), after, before)
	}
	return err
}

// insertBatch inserts rows like those of comments.
func (b *bench) insertBatch(ctx context.Context, from int64) error {
	random := rand.New(rand.NewPCG(b.seed, uint64(from))) //nolint:gosec // it is meant to be the same each time
	subjects, users, texts := make([]string, talkClients), make([]string, talkClients), make([]string, talkClients)
	ids := make([]int64, talkClients)
	for i := range talkClients {
		subjects[i] = b.people.subjects.names[b.people.subjects.draw(random)]
		users[i] = b.people.names[b.people.viewers+random.IntN(readers)]
		texts[i] = commentText + strconv.Itoa(random.IntN(1e6))
		ids[i] = from + int64(i) + 1
	}
	_, err := b.site.database.Exec(ctx, `
		INSERT INTO bare_comment (tenant, biz, biz_id, user_id, text, comment_id, reply_to, created, edited,
			version, deleted, listed, reply_count, like_count)
		SELECT 'default', '`+biz+`', biz_id, user_id, text, comment_id, 0, comment_id, 0, comment_id, 0, TRUE, 0, 0
		FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS k (biz_id, user_id, text, comment_id)`, subjects, users, texts, ids)
	if err != nil {
		return fmt.Errorf("insert comments: %w", err)
	}
	return nil
}

func (b *bench) commentsThere(ctx context.Context) (n int64, err error) {
	err = b.site.database.QueryRow(ctx, `SELECT count(*) FROM comment`).Scan(&n)
	return n, err
}

// commentsRow measures how fast pages of comments are read, with their authors, their
// own likes and numbers of replies.
func commentsRow(ctx context.Context, b *bench, r *row) error {
	if err := b.talk(ctx); err != nil {
		return err
	}
	talked, err := b.talkBook(ctx)
	if err != nil {
		return err
	}
	t, err := b.site.readTruth(ctx, b.people)
	if err != nil {
		return err
	}
	books := []*book{talked, b.node.book(b.people, t, b.drawPages(pages, nil))}
	if err := b.warm(ctx, []*side{&b.node, &b.node}, books); err != nil {
		return err
	}
	var two [2]contender
	for i, of := range books {
		two[i] = contender{name: []string{"pages of comments", "pages of subjects"}[i], side: &b.node, ready: func(context.Context, int) ([]load.Client, error) {
			return of.pagers(talkClients, false), nil
		}}
	}
	of, err := b.compare(ctx, two)
	if err != nil {
		return err
	}
	r.judge(of, 0)
	r.result += "; " + perSecond(of[0].rate, "pages")
	return nil
}

// talk adds comments to the requested subjects, the same number to each.
func (b *bench) talk(ctx context.Context) error {
	var acked, next atomic.Int64
	inTurn := func(*rand.Rand) (string, string) { return talkBiz, strconv.FormatInt(next.Add(1)%talkSubjects, 10) }
	clients := make([]load.Client, talkClients)
	for i := range clients {
		random := rand.New(rand.NewPCG(b.seed, uint64(i))) //nolint:gosec // it is meant to be the same each time
		clients[i] = &commenter{&b.node, random, inTurn, &acked, talkSubjects * talkComments / talkClients}
	}
	result, err := load.Closed(ctx, b.node.process.address, clients, warmTime)
	if err != nil {
		return err
	}
	return faultsOf(result)
}

// talkQuery returns the query for the newest comments on a subject.
func talkQuery(biz string) string {
	return `query Talk($id: ID!) { interactive(biz: "` + biz + `", bizId: $id) { commentCount comments { edges { node { ` +
		`commentId text at author { userId } replyCount interactive { likeCount liked { reaction } } } } } } }`
}

// talkBook returns a page of comments for each subject, with the replies expected from
// the content of Postgres.
func (b *bench) talkBook(ctx context.Context) (*book, error) {
	all := &book{}
	for subject := range talkSubjects {
		id := strconv.Itoa(subject)
		rows, err := b.site.database.Query(ctx, `SELECT comment_id, text, created, user_id FROM comment
			WHERE biz = $1 AND biz_id = $2 ORDER BY comment_id DESC`, talkBiz, id)
		if err != nil {
			return nil, fmt.Errorf("read comments: %w", err)
		}
		var edges bytes.Buffer
		var number, created int64
		var text, user string
		n := 0
		_, err = pgx.ForEachRow(rows, []any{&number, &text, &created, &user}, func() error {
			if n++; n > pageSize {
				return nil
			}
			if n > 1 {
				edges.WriteByte(',')
			}
			fmt.Fprintf(&edges, `{"node":{"commentId":"%d","text":%s,"at":%q,"author":{"userId":%q},"replyCount":0,"interactive":{"likeCount":0,"liked":null}}}`,
				number, mustJSON(text), storage.Time(created).Format(time.RFC3339Nano), user)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read comments: %w", err)
		}
		all.requests = append(all.requests, load.Post(nil, b.node.process.address, "/graphql", b.people.tokens[subject], mustJSON(map[string]any{
			"query": talkQuery(talkBiz), "operationName": "Talk", "variables": map[string]string{"id": id},
		})))
		all.replies = append(all.replies, fmt.Appendf(nil, `{"data":{"interactive":{"commentCount":%d,"comments":{"edges":[%s]}}}}`, n, edges.Bytes()))
	}
	return all, nil
}
