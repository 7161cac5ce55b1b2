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

	"ovation/api/viewer"
	"ovation/bench/load"
	"ovation/storage"
)

// The minimum ratios of the rates that are compared in the rows named authors, follow and
// comment.
const (
	minAuthorsRatio = 0.75
	minFollowRatio  = 0.90
	minCommentRatio = 0.60
)

const (
	rowConnections     = 32
	commentedSubjects  = 64 // number of subjects whose comments are requested
	commentsPerSubject = pageSize + 5
	commentedBiz       = "talk"
)

// authorOf returns the user id of a subject's author.
func (p *userPool) authorOf(subject int) string { return p.names[subject%p.viewerCount] }

// measureAuthors compares pages with authors to pages without authors. A page with
// authors also shows whether the viewer follows each author.
func measureAuthors(ctx context.Context, b *bench, r *row) error {
	if err := b.declareAuthors(ctx); err != nil {
		return err
	}
	t, err := b.installation.readState(ctx, b.users)
	if err != nil {
		return err
	}
	with, drawn := b.node, b.drawPages(pageCount, nil)
	with.name, with.withAuthors = "with authors", true
	return b.comparePages(ctx, r, &with, t, drawn, minAuthorsRatio)
}

// comparePages compares pages from a system to those from the node.
func (b *bench) comparePages(ctx context.Context, r *row, with *system, t *databaseState, drawn []page, least float64) error {
	systems := []*system{with, &b.node}
	workloads := []*workload{with.newWorkload(b.users, t, drawn), b.node.newWorkload(b.users, t, drawn)}
	if err := b.warmUp(ctx, systems, workloads); err != nil {
		return err
	}
	var variants [2]variant
	for i, s := range systems {
		variants[i] = variant{name: s.name, system: s, newClients: func(context.Context, int) ([]load.Client, error) {
			return workloads[i].newPageClients(rowConnections, false), nil
		}}
	}
	of, err := b.measureAlternately(ctx, variants)
	if err == nil {
		r.evaluateRates(of, least)
	}
	return err
}

// declareAuthors gives every subject an author.
func (b *bench) declareAuthors(ctx context.Context) error {
	token, err := viewer.Sign([]byte(b.installation.secret), storage.User{Tenant: storage.DefaultTenant, UserID: "catalogue"}, time.Hour, viewer.Scope(viewer.WriteSubjects))
	if err != nil {
		return err
	}
	conn, err := load.Dial(ctx, b.node.process.address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	const most = 100 // maximum number of declarations in a request
	for from := 0; from < len(b.users.subjectIndex); from += most {
		var subjects []map[string]string
		for i := from; i < min(from+most, len(b.users.subjectIndex)); i++ {
			subjects = append(subjects, map[string]string{"biz": biz, "bizId": b.users.subjects.names[i], "author": b.users.authorOf(i)})
		}
		status, body, err := conn.Do(load.Post(nil, b.node.process.address, "/graphql", token, mustJSON(map[string]any{
			"query":     `mutation Declare($input: DeclareSubjectsInput!) { declareSubjects(input: $input) { durability } }`,
			"variables": map[string]any{"input": map[string]any{"subjects": subjects}},
		})))
		if err != nil {
			return fmt.Errorf("declare authors: %w", err)
		}
		if status != http.StatusOK || bytes.Contains(body, []byte(`"errors"`)) {
			return fmt.Errorf("declare authors: status %d with %.200s", status, body)
		}
	}
	return nil
}

// measureFollows compares the rates of follow and like, for the same users and subjects.
func measureFollows(ctx context.Context, b *bench, r *row) (err error) {
	// The reply has the same form as the reply to a like, so that it is checked in the
	// same way.
	follow := b.node
	follow.name, follow.users = "follow", b.users.withoutLikes()
	follow.mutation = `mutation Like($input: FollowInput!) { like: follow(input: $input) { changed durability } }`
	follow.likesQuery = `SELECT user_id, biz_id FROM user_follow WHERE biz = '` + biz + `' AND user_id LIKE '` + readerPrefix + `%' AND state = 1`
	follow.likeCountQuery = `SELECT coalesce(sum(follower_count), 0)::bigint FROM interactive WHERE biz = '` + biz + `'`
	if follow.initialLikes, err = b.sumLikeCounts(ctx, &follow); err != nil {
		return err
	}
	like := b.node
	like.name = "like"
	var variants [2]variant
	for i, s := range []*system{&follow, &like} {
		variants[i] = variant{name: s.name, system: s, afterRound: b.drainFunc(s), newClients: func(_ context.Context, round int) ([]load.Client, error) {
			return s.newLikeClients(rowConnections, b.seed+uint64(1000+10*round+i), func(*likeClient) {}), nil
		}}
	}
	of, err := b.measureAlternately(ctx, variants)
	if err != nil {
		return err
	}
	r.evaluateRates(of, minFollowRatio)
	if err := b.checkLikes(ctx, &like); err != nil {
		return err
	}
	return b.checkLikes(ctx, &follow)
}

// commentClient sends comments on subjects as random readers.
type commentClient struct {
	system    *system
	random    *rand.Rand
	subject   func(*rand.Rand) (biz, id string)
	acked     *atomic.Int64
	remaining int // number of comments left to add; negative: unlimited
}

const (
	addCommentMutation = `mutation Say($input: AddCommentInput!) { addComment(input: $input) { comment { commentId } } }`
	commentTextPrefix  = "What a lovely video. I have watched it twice already, and number "
)

var addCommentReplyPrefix = []byte(`{"data":{"addComment":{"comment":{"commentId":"`)

// Next implements load.Client.
func (c *commentClient) Next(buf []byte) []byte {
	if c.remaining == 0 {
		return nil
	}
	c.remaining--
	p := c.system.users
	user := p.viewerCount + c.random.IntN(len(p.names)-p.viewerCount)
	of, id := c.subject(c.random)
	return load.Post(buf, c.system.process.address, "/graphql", p.tokens[user], mustJSON(map[string]any{
		"query": addCommentMutation, "operationName": "Say",
		"variables": map[string]any{"input": map[string]string{"biz": of, "bizId": id, "text": commentTextPrefix + strconv.Itoa(c.random.IntN(1e6))}},
	}))
}

// Done implements load.Client.
func (c *commentClient) Done(status int, body []byte) error {
	if status != http.StatusOK || !bytes.HasPrefix(body, addCommentReplyPrefix) {
		return fmt.Errorf("status %d with %.200s, want %s", status, body, addCommentReplyPrefix)
	}
	c.acked.Add(1)
	return nil
}

// measureComments compares the rate at which Ovation adds comments with the rate at which
// Postgres inserts rows of the same kind.
func measureComments(ctx context.Context, b *bench, r *row) error {
	var acked atomic.Int64
	before, err := b.countComments(ctx)
	if err != nil {
		return err
	}
	popular := func(random *rand.Rand) (string, string) {
		return biz, b.users.subjects.names[b.users.subjects.draw(random)]
	}
	if _, err := b.installation.database.Exec(ctx, `CREATE TABLE bare_comment (LIKE comment INCLUDING ALL)`); err != nil {
		return fmt.Errorf("create a table to insert into: %w", err)
	}
	inserted := int64(0)
	of, err := b.measureAlternately(ctx, [2]variant{
		{name: b.node.name, system: &b.node, newClients: func(_ context.Context, round int) (clients []load.Client, _ error) {
			for i := range rowConnections {
				random := rand.New(rand.NewPCG(b.seed+uint64(2000+round), uint64(i))) //nolint:gosec // it is meant to be the same each time
				clients = append(clients, &commentClient{&b.node, random, popular, &acked, -1})
			}
			return clients, nil
		}},
		{name: "inserts", system: &system{}, operations: func(ctx context.Context, during time.Duration) (n int64, err error) {
			for end := time.Now().Add(during); err == nil && time.Now().Before(end); n += rowConnections {
				err = b.insertComments(ctx, inserted)
				inserted += rowConnections
			}
			return n, err
		}},
	})
	if err != nil {
		return err
	}
	r.evaluateRates(of, minCommentRatio)
	r.notes = append(r.notes, "The inserts are those of the same rows into a table with the same indexes, by one connection that commits each batch.")
	after, err := b.countComments(ctx)
	if err == nil && after != before+acked.Load() {
		err = fmt.Errorf("%d comments were acknowledged, but %d are stored, %d of them from before the row", acked.Load(), after, before)
	}
	return err
}

// insertComments inserts a batch of rows into the table bare_comment, without Ovation.
func (b *bench) insertComments(ctx context.Context, from int64) error {
	random := rand.New(rand.NewPCG(b.seed, uint64(from))) //nolint:gosec // it is meant to be the same each time
	subjects, users, texts := make([]string, rowConnections), make([]string, rowConnections), make([]string, rowConnections)
	ids := make([]int64, rowConnections)
	for i := range rowConnections {
		subjects[i] = b.users.subjects.names[b.users.subjects.draw(random)]
		users[i] = b.users.names[b.users.viewerCount+random.IntN(readerCount)]
		texts[i] = commentTextPrefix + strconv.Itoa(random.IntN(1e6))
		ids[i] = from + int64(i) + 1
	}
	_, err := b.installation.database.Exec(ctx, `
		INSERT INTO bare_comment (tenant, biz, biz_id, user_id, text, comment_id, reply_to, created, edited,
			version, deleted, listed, reply_count, like_count)
		SELECT 'default', '`+biz+`', biz_id, user_id, text, comment_id, 0, comment_id, 0, comment_id, 0, TRUE, 0, 0
		FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS k (biz_id, user_id, text, comment_id)`, subjects, users, texts, ids)
	if err != nil {
		return fmt.Errorf("insert comments: %w", err)
	}
	return nil
}

func (b *bench) countComments(ctx context.Context) (n int64, err error) {
	err = b.installation.database.QueryRow(ctx, `SELECT count(*) FROM comment`).Scan(&n)
	return n, err
}

// measureCommentPages compares pages of comments with pages of subjects. For each
// comment, a page of comments includes the author, the number of replies, the number of
// likes and the viewer's reaction.
func measureCommentPages(ctx context.Context, b *bench, r *row) error {
	if err := b.addComments(ctx); err != nil {
		return err
	}
	comments, err := b.commentWorkload(ctx)
	if err != nil {
		return err
	}
	t, err := b.installation.readState(ctx, b.users)
	if err != nil {
		return err
	}
	workloads := []*workload{comments, b.node.newWorkload(b.users, t, b.drawPages(pageCount, nil))}
	if err := b.warmUp(ctx, []*system{&b.node, &b.node}, workloads); err != nil {
		return err
	}
	var variants [2]variant
	for i, of := range workloads {
		variants[i] = variant{name: []string{"pages of comments", "pages of subjects"}[i], system: &b.node, newClients: func(context.Context, int) ([]load.Client, error) {
			return of.newPageClients(rowConnections, false), nil
		}}
	}
	of, err := b.measureAlternately(ctx, variants)
	if err != nil {
		return err
	}
	r.evaluateRates(of, 0)
	r.result += "; " + formatRate(of[0].rate, "pages")
	return nil
}

// addComments adds commentsPerSubject comments to each of the commented subjects.
func (b *bench) addComments(ctx context.Context) error {
	var acked, next atomic.Int64
	inTurn := func(*rand.Rand) (string, string) {
		return commentedBiz, strconv.FormatInt(next.Add(1)%commentedSubjects, 10)
	}
	clients := make([]load.Client, rowConnections)
	for i := range clients {
		random := rand.New(rand.NewPCG(b.seed, uint64(i))) //nolint:gosec // it is meant to be the same each time
		clients[i] = &commentClient{&b.node, random, inTurn, &acked, commentedSubjects * commentsPerSubject / rowConnections}
	}
	result, err := load.Closed(ctx, b.node.process.address, clients, warmUpTimeout)
	if err != nil {
		return err
	}
	return replyErrors(result)
}

// commentsQuery returns the query for the newest comments on a subject.
func commentsQuery(biz string) string {
	return `query Talk($id: ID!) { interactive(biz: "` + biz + `", bizId: $id) { commentCount comments { edges { node { ` +
		`commentId text at author { userId } replyCount interactive { likeCount liked { reaction } } } } } } }`
}

// commentWorkload returns a request for the newest comments on each commented subject,
// and the replies that are expected from the contents of Postgres.
func (b *bench) commentWorkload(ctx context.Context) (*workload, error) {
	all := &workload{}
	for subject := range commentedSubjects {
		id := strconv.Itoa(subject)
		rows, err := b.installation.database.Query(ctx, `SELECT comment_id, text, created, user_id FROM comment
			WHERE biz = $1 AND biz_id = $2 ORDER BY comment_id DESC`, commentedBiz, id)
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
		all.requests = append(all.requests, load.Post(nil, b.node.process.address, "/graphql", b.users.tokens[subject], mustJSON(map[string]any{
			"query": commentsQuery(commentedBiz), "operationName": "Talk", "variables": map[string]string{"id": id},
		})))
		all.expectedReplies = append(all.expectedReplies, fmt.Appendf(nil, `{"data":{"interactive":{"commentCount":%d,"comments":{"edges":[%s]}}}}`, n, edges.Bytes()))
	}
	return all, nil
}
