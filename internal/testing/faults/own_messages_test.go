//go:build long

package faults_test

import (
	"fmt"
	"slices"
	"testing"

	"ovation/internal/testing/must"
)

// messagePageSize is the number of messages that the client requests from a conversation.
const messagePageSize = 50

// ownMessage is a message that a client sent, with its possible outcomes.
type ownMessage struct {
	to      string
	text    string // the text, which is also the requestId
	outcome stateSet
	id      string // "" until the message is acknowledged
}

// listedMessage is a message in a reply.
type listedMessage struct {
	ID, Text string
	From, To struct{ UserID string }
}

const messageFields = `id text from { userId } to { userId }`

// sendNewMessage sends a new message. If the outcome of the latest message is unknown, it
// repeats that message instead.
func (c *client) sendNewMessage(node *process) {
	if n := len(c.ownMessages); n > 0 && c.ownMessages[n-1].outcome != outcomeStored {
		c.sendMessage(node, c.ownMessages[n-1])
		return
	}
	l := &ownMessage{to: fmt.Sprintf("user-%d", c.random.IntN(followedClients)), text: fmt.Sprintf("%s, message %d", c.name, len(c.ownMessages)), outcome: outcomeAbsent}
	if l.to == c.name {
		return // users cannot send messages to themselves
	}
	c.ownMessages = append(c.ownMessages, l)
	c.sendMessage(node, l)
	if l.id != "" && c.random.IntN(10) == 0 { // a client may retry a request that has succeeded
		c.sendMessage(c.installation.node(c.random.IntN(2)), l)
	}
}

// sendMessage sends a message, possibly not for the first time.
func (c *client) sendMessage(node *process, l *ownMessage) {
	var got struct {
		Did struct{ Message listedMessage }
	}
	code := c.execute(node, journalEntry{operation: "message", detail: l.text, needsDatabase: true, maxDuration: maxCommentDuration},
		fmt.Sprintf(`mutation { did: sendMessage(input: {to: %q, text: %[2]q, requestId: %[2]q}) { message { `+messageFields+` } } }`, l.to, l.text), &got)
	if code != "" {
		l.outcome |= outcomeStored
		return
	}
	m := &got.Did.Message
	if l.id != "" && l.id != m.ID {
		c.installation.violationf("a request was done twice", c, "%q is %s and %s", l.text, l.id, m.ID)
	}
	if l.outcome, l.id = outcomeStored, m.ID; m.Text != l.text || m.From.UserID != c.name || m.To.UserID != l.to {
		c.installation.violationf("not the message that was sent", c, "%+v on %s: %+v", *l, node.name, *m)
	}
}

// readConversation reads a conversation. The conversation must contain the last
// acknowledged message, and no message twice.
func (c *client) readConversation(node *process) {
	known := slices.DeleteFunc(slices.Clone(c.ownMessages), func(l *ownMessage) bool { return l.outcome != outcomeStored })
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
	query := fmt.Sprintf(`{ conversation(with: %q) { messages(first: %d) { edges { node { %s } } } } }`, last.to, messagePageSize, messageFields)
	if c.execute(node, journalEntry{operation: "conversation", detail: last.to, needsDatabase: true}, query, &got) != "" {
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
			c.installation.violationf("a message is listed twice", c, "%q on %s: %d times", text, node.name, n)
		}
	}
	if seen[last.text] == 0 {
		c.installation.violationf("a message is lost", c, "%+v on %s: %v", *last, node.name, seen)
	}
}

// resolveMessages repeats requests until the outcome of every message is known.
func (s *installation) resolveMessages(t *testing.T) {
	t.Helper()
	for i, c := range s.clients {
		for _, l := range c.ownMessages {
			if l.outcome != outcomeStored && !pollUntil(func() bool { c.sendMessage(s.node(i%2), l); return l.outcome == outcomeStored }) {
				t.Errorf("%s cannot determine the outcome of %+v", c.name, *l)
				return
			}
		}
	}
}

// checkMessages compares the clients' messages with the rows in the database.
func (s *installation) checkMessages(t *testing.T) {
	t.Helper()
	type key struct{ from, to, text string }
	stored := map[key]int{}
	rows, err := s.database.Query(t.Context(), `
		SELECT CASE WHEN from_low THEN user_low ELSE user_high END, CASE WHEN from_low THEN user_high ELSE user_low END, text
		FROM message WHERE user_low LIKE 'user-%' AND user_high LIKE 'user-%'`)
	must.Succeed(t, err)
	defer rows.Close()
	for rows.Next() {
		var k key
		must.Succeed(t, rows.Scan(&k.from, &k.to, &k.text))
		stored[k]++
	}
	must.Succeed(t, rows.Err())
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
		wrong = append(wrong, fmt.Sprintf("stored, but never sent: %+v", k))
	}
	if len(wrong) > 0 {
		t.Errorf("%d of %d messages differ from what was acknowledged:\n%s", len(wrong), sent, firstLines(wrong))
	}
}
