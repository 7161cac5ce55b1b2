package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// The reply that the floor (bench/floor) sends to a first like, and SQL statements for
// the floor's tables.
const (
	floorLikeReply      = `{"changed":true}`
	floorLikesQuery     = `SELECT user_id, biz_id FROM floor_likes`
	floorLikeCountQuery = `SELECT coalesce(sum(likes), 0)::bigint FROM floor_counts`
	createFloorTables   = `
		CREATE TABLE floor_likes (user_id text, biz_id text, PRIMARY KEY (user_id, biz_id));
		CREATE TABLE floor_counts (biz_id text PRIMARY KEY, likes bigint NOT NULL) WITH (fillfactor = 85)`
)

// fillFloor creates the floor's tables and copies the contents of Postgres to the floor's
// keys in Redis.
func (b *bench) fillFloor(ctx context.Context) error {
	if _, err := b.installation.database.Exec(ctx, createFloorTables); err != nil {
		return fmt.Errorf("create the floor's tables: %w", err)
	}
	keys := b.installation.prefix + ":floor:"
	return b.installation.withRedis(func(client rueidis.Client) error {
		var commands []rueidis.Completed
		add := func(key, field, value string) {
			commands = append(commands, client.B().Hset().Key(key).FieldValue().FieldValue(field, value).Build())
		}
		for _, id := range b.users.subjects.names {
			c := b.initialState.counts[id]
			for field, n := range map[string]int64{"r": c.reads, "l": c.likes, "c": c.collections} {
				add(keys+"s:"+id, field, strconv.FormatInt(n, 10))
			}
		}
		for of := range b.initialState.liked {
			add(keys+"u:"+of.user, of.subject, b.initialState.floorStates(of))
		}
		for of := range b.initialState.collected {
			add(keys+"u:"+of.user, of.subject, b.initialState.floorStates(of))
		}
		for _, reply := range client.DoMulti(ctx, commands...) {
			if err := reply.Error(); err != nil {
				return fmt.Errorf("fill the floor: %w", err)
			}
		}
		return nil
	})
}

// floorStates returns the value that the floor stores for a user and a subject: l if the
// user likes the subject, followed by c if the user has collected it.
func (t *databaseState) floorStates(of stateKey) (own string) {
	if _, is := t.liked[of]; is {
		own = "l"
	}
	if _, is := t.collected[of]; is {
		own += "c"
	}
	return own
}

// expectedFloorState returns the state that the floor must have when no message is in
// flight.
func (b *bench) expectedFloorState() *databaseState {
	p := b.floor.users
	t := &databaseState{counts: map[string]counts{}, liked: map[stateKey]int64{}, collected: b.initialState.collected}
	for i, id := range p.subjects.names {
		c := b.initialState.counts[id]
		c.likes += p.sent[i].Load()
		t.counts[id] = c
		t.sent = append(t.sent, p.sent[i].Load())
	}
	maps.Copy(t.liked, b.initialState.liked)
	for user := range p.viewerCount {
		for subject, id := range p.subjects.names {
			if p.likes[user].sent.has(subject) {
				t.liked[stateKey{p.names[user], id}] = 0
			}
		}
	}
	return t
}

// expectedFloorReply returns the reply that the floor must send to the request for a
// page.
func expectedFloorReply(t *databaseState, p *userPool, of *page) []byte {
	var out bytes.Buffer
	out.WriteString(`{"items":[`)
	for i, subject := range of.subjects {
		if i > 0 {
			out.WriteByte(',')
		}
		id := p.subjects.names[subject]
		c := t.counts[id]
		fmt.Fprintf(&out, `{"id":%q,"reads":%d,"likes":%d,"collections":%d,"own":%q}`,
			id, c.reads, c.likes, c.collections, t.floorStates(stateKey{p.names[of.viewer], id}))
	}
	out.WriteString(`]}`)
	return out.Bytes()
}

func parseFloorPage(body []byte) (items []pageItem, err error) {
	var got struct {
		Items []struct {
			ID                        string
			Reads, Likes, Collections int64
			Own                       string
		}
	}
	err = json.Unmarshal(body, &got) //nolint:musttag // names differ in case alone
	for _, g := range got.Items {
		items = append(items, pageItem{
			g.ID, counts{g.Reads, g.Likes, 0, g.Collections}, strings.Contains(g.Own, "l"), strings.Contains(g.Own, "c"),
		})
	}
	return items, err
}
