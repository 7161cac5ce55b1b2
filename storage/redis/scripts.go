package redis

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"
)

//go:embed lua/entry.lua
var entryText string

//go:embed lua/look.lua
var lookText string

//go:embed lua/fill.lua
var fillText string

//go:embed lua/show.lua
var showText string

//go:embed lua/mark.lua
var markText string

//go:embed lua/forget.lua
var forgetText string

//go:embed lua/fence.lua
var fenceText string

//go:embed lua/counts.lua
var countsText string

//go:embed lua/document.lua
var documentText string

//go:embed lua/each.lua
var eachText string

var (
	lookScript   = newScript(entryText, lookText)
	fillScript   = newScript(entryText, fillText)
	showScript   = newScript(entryText, showText)
	markScript   = newScript(entryText, markText)
	forgetScript = newScript(entryText, forgetText)
	fenceScript  = newScript("", fenceText)
	countsScript = newScript("", countsText)

	documentScript = newScript("", documentText)
)

// script is a Lua script in two forms: for one key, and for many.
type script struct{ one, many lua }

// lua is a text and the name that Redis has for it.
type lua struct{ text, sha string }

// newScript makes a script of what stands before it and its own part.
func newScript(before, own string) *script {
	begin := "local function one(KEYS, ARGV)\n"
	if before != "" {
		begin += "window = KEYS[1]\n"
	}
	return &script{newLua(before + own), newLua(before + begin + own + "\nend\n" + eachText)}
}

func newLua(text string) lua {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // Redis names scripts so
	return lua{text, hex.EncodeToString(sum[:])}
}

// call is a script with its one key and its arguments: those that it may share
// with the calls before and after it, and its own.
type call struct {
	*script

	key    string
	shared []string
	args   []string
}

// Calls of one script go to Redis together, so many keys with so many arguments
// at most: everybody else waits meanwhile.
const (
	keysTogether = 50
	argsTogether = 1000
)

// together are calls that go to Redis as one.
type together []call

// togetherAt is how many calls go together: each by itself where not all keys
// lie in one place.
func togetherAt(client rueidis.Client) int {
	if client.Mode() == rueidis.ClientModeCluster {
		return 1
	}
	return keysTogether
}

// together splits calls into those that go together.
func (s *Store) together(calls []call) []together {
	parts := make([]together, 0, 1+len(calls)/max(s.most, 1))
	for len(calls) > 0 {
		n, args := 1, len(calls[0].args)
		for n < min(s.most, len(calls)) && calls[n].joins(&calls[0]) && args+len(calls[n].args) <= argsTogether {
			args += len(calls[n].args)
			n++
		}
		parts = append(parts, calls[:n])
		calls = calls[n:]
	}
	return parts
}

// joins reports whether a call may go together with another one.
func (c *call) joins(other *call) bool {
	return c.script == other.script && len(c.shared) == len(other.shared) &&
		(len(c.shared) == 0 || &c.shared[0] == &other.shared[0])
}

// command is the calls as a command: by the name of the script, or with its text.
func (t together) command(client rueidis.Client, withText bool) rueidis.Completed {
	form, many := t[0].one, len(t) > 1
	if many {
		form = t[0].many
	}
	command := client.B().Arbitrary("EVALSHA", form.sha)
	if withText {
		command = client.B().Arbitrary("EVAL", form.text)
	}
	command = command.Args(strconv.Itoa(len(t))).Keys(t[0].key) // which tells where all of them lie
	for i := range t[1:] {
		command = command.Args(t[i+1].key)
	}
	if many {
		command = command.Args(strconv.Itoa(len(t[0].shared)))
	}
	command = command.Args(t[0].shared...)
	for i := range t {
		if many {
			command = command.Args(strconv.Itoa(len(t[i].args)))
		}
		command = command.Args(t[i].args...)
	}
	return command.Build()
}

// replies are those to each of the calls.
func (t together) replies(of rueidis.RedisResult) ([]rueidis.RedisMessage, error) {
	message, err := of.ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		return nil, fmt.Errorf("script on %q: %w", t[0].key, err)
	}
	if len(t) == 1 {
		return []rueidis.RedisMessage{message}, nil
	}
	replies, err := message.ToArray()
	if err == nil && len(replies) != len(t) {
		err = fmt.Errorf("%d keys have %d replies", len(t), len(replies))
	}
	if err != nil {
		return nil, fmt.Errorf("script on %q and more: %w", t[0].key, err)
	}
	for i := range replies {
		if err := replies[i].Error(); err != nil && !rueidis.IsRedisNil(err) {
			return nil, fmt.Errorf("script on %q: %w", t[i].key, err)
		}
	}
	return replies, nil
}

// run runs the scripts in one pipeline and returns a reply for each. Keys of
// another type are deleted first. An error of one is the error of all.
func (s *Store) run(ctx context.Context, calls []call) ([]rueidis.RedisMessage, error) {
	replies, err := s.runOnce(ctx, calls)
	if !wrongType(err) {
		return replies, err
	}
	if err := s.dropForeign(ctx, calls); err != nil {
		return nil, err
	}
	return s.runOnce(ctx, calls)
}

// runOnce sends the scripts, with their text those that a server does not have
// yet.
func (s *Store) runOnce(ctx context.Context, calls []call) ([]rueidis.RedisMessage, error) {
	parts := s.together(calls)
	commands := make([]rueidis.Completed, len(parts))
	for i := range parts {
		commands[i] = parts[i].command(s.client, false)
	}
	results := s.client.DoMulti(ctx, commands...)
	var unknown []int
	var texts []rueidis.Completed
	for i := range results {
		if fault, ok := rueidis.IsRedisErr(results[i].Error()); ok && fault.IsNoScript() {
			unknown = append(unknown, i)
			texts = append(texts, parts[i].command(s.client, true))
		}
	}
	if len(unknown) > 0 {
		for i, result := range s.client.DoMulti(ctx, texts...) {
			results[unknown[i]] = result
		}
	}
	out := make([]rueidis.RedisMessage, 0, len(calls))
	for i := range results {
		replies, err := parts[i].replies(results[i])
		if err != nil {
			return nil, err
		}
		out = append(out, replies...)
	}
	return out, nil
}
