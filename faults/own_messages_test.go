//go:build long

package faults_test

import (
	"fmt"
	"slices"
	"testing"
)

// messagePage is the number of messages of a conversation that are read at once.
const messagePage = 50

// ownMessage is a message of a client, and what the client knows of it.
type ownMessage struct {
	to   string
	text string // also its requestId
	fate set
	id   string // once it is acknowledged
}

// listedMessage is a message as a reply shows it.
type listedMessage struct {
	ID, Text string
	From, To struct{ UserID string }
}

const messageFields = `id text from { userId } to { userId }`

// write sends a message, after repeating an earlier one whose outcome is unknown.
func (c *client) write(node *process) {
	if n := len(c.ownMessages); n > 0 && c.ownMessages[n-1].fate != written {
		c.send(node, c.ownMessages[n-1])
		return
	}
	l := &ownMessage{to: fmt.Sprintf("user-%d", c.random.IntN(people)), text: fmt.Sprintf("%s, message %d", c.name, len(c.ownMessages)), fate: unwritten}
	if l.to == c.name {
		return // nobody writes to themselves
	}
	c.ownMessages = append(c.ownMessages, l)
	c.send(node, l)
	if l.id != "" && c.random.IntN(10) == 0 { // a client may retry a request that has succeeded
		c.send(c.site.node(c.random.IntN(2)), l)
	}
}

// send sends a message, possibly not for the first time.
func (c *client) send(node *process, l *ownMessage) {
	var got struct {
		Did struct{ Message listedMessage }
	}
	code := c.ask(node, entry{what: "message", about: l.text, direct: true, limit: commentTime},
		fmt.Sprintf(`mutation { did: sendMessage(input: {to: %q, text: %[2]q, requestId: %[2]q}) { message { `+messageFields+` } } }`, l.to, l.text), &got)
	if code != "" {
		l.fate |= written
		return
	}
	m := &got.Did.Message
	if l.id != "" && l.id != m.ID {
		c.site.violationf("a request was done twice", c, "%q is %s and %s", l.text, l.id, m.ID)
	}
	if l.fate, l.id = written, m.ID; m.Text != l.text || m.From.UserID != c.name || m.To.UserID != l.to {
		c.site.violationf("not the message that was sent", c, "%+v on %s: %+v", *l, node.name, *m)
	}
}

// checkConversation reads a conversation, which must contain the last acknowledged message and no
// message twice.
func (c *client) checkConversation(node *process) {
	known := slices.DeleteFunc(slices.Clone(c.ownMessages), func(l *ownMessage) bool { return l.fate != written })
	if len(known) == 0 {
		return
	}
	last := known[len(known)-1]
	var got struct {
		Conversation *struct {
			Messages struct {
				Edges []struct{ Node listedMessage }
			}
		}
	}
	query := fmt.Sprintf(`{ conversation(with: %q) { messages(first: %d) { edges { node { %s } } } } }`, last.to, messagePage, messageFields)
	if c.ask(node, entry{what: "conversation", about: last.to, direct: true}, query, &got) != "" {
		return
	}
	seen := map[string]int{}
	if got.Conversation != nil {
		for _, edge := range got.Conversation.Messages.Edges {
			seen[edge.Node.Text]++
		}
	}
	for text, n := range seen {
		if n > 1 {
			c.site.violationf("a message is listed twice", c, "%q on %s: %d times", text, node.name, n)
		}
	}
	if seen[last.text] == 0 {
		c.site.violationf("a message is lost", c, "%+v on %s: %v", *last, node.name, seen)
	}
}

// resolveMessages finds out what became of every message.
func (s *site) resolveMessages(t *testing.T) {
	t.Helper()
	for i, c := range s.clients {
		for _, l := range c.ownMessages {
			if l.fate != written && !waitUntil(waitTimeout, func() bool { c.send(s.node(i%2), l); return l.fate == written }) {
				t.Errorf("%s cannot find out what became of %+v", c.name, *l)
				return
			}
		}
	}
}

// checkMessages compares what the clients know of their messages with the rows.
func (s *site) checkMessages(t *testing.T) {
	t.Helper()
	type key struct{ from, to, text string }
	stored := map[key]int{}
	rows, err := s.database.Query(t.Context(), `
		SELECT CASE WHEN from_low THEN user_low ELSE user_high END, CASE WHEN from_low THEN user_high ELSE user_low END, text
		FROM message WHERE user_low LIKE 'user-%' AND user_high LIKE 'user-%'`)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var k key
		must(t, rows.Scan(&k.from, &k.to, &k.text))
		stored[k]++
	}
	must(t, rows.Err())
	var wrong []string
	sent := 0
	for _, c := range s.clients {
		for _, l := range c.ownMessages {
			sent++
			k := key{c.name, l.to, l.text}
			if n := stored[k]; n != 1 {
				wrong = append(wrong, fmt.Sprintf("%+v of %s is stored %d times", *l, c.name, n))
			}
			delete(stored, k)
		}
	}
	for k := range stored {
		wrong = append(wrong, fmt.Sprintf("nobody sent %+v", k))
	}
	if len(wrong) > 0 {
		t.Errorf("%d of %d messages differ from what was acknowledged:\n%s", len(wrong), sent, firstLines(wrong))
	}
}
