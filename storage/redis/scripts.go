package redis

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"

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

//go:embed lua/reads.lua
var readsText string

//go:embed lua/mark.lua
var markText string

//go:embed lua/forget.lua
var forgetText string

//go:embed lua/fence.lua
var fenceText string

//go:embed lua/counts.lua
var countsText string

var (
	lookScript   = newScript(entryText + lookText)
	fillScript   = newScript(entryText + fillText)
	showScript   = newScript(entryText + showText)
	readsScript  = newScript(entryText + readsText)
	markScript   = newScript(entryText + markText)
	forgetScript = newScript(entryText + forgetText)
	fenceScript  = newScript(fenceText)
	countsScript = newScript(countsText)
)

// script is a Lua script and the name that Redis has for it.
type script struct{ text, sha string }

func newScript(text string) *script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // Redis names scripts so
	return &script{text, hex.EncodeToString(sum[:])}
}

// call is a script with its one key and its arguments.
type call struct {
	*script
	key  string
	args []string
}

func (c *call) command(client rueidis.Client) rueidis.Completed {
	return client.B().Evalsha().Sha1(c.sha).Numkeys(1).Key(c.key).Arg(c.args...).Build()
}

func (c *call) withText(client rueidis.Client) rueidis.Completed {
	return client.B().Eval().Script(c.text).Numkeys(1).Key(c.key).Arg(c.args...).Build()
}

// run runs the scripts in one pipeline and returns a reply for each. Scripts
// that a server does not have yet are sent to it. An error of one is the error
// of all.
func (s *Store) run(ctx context.Context, calls []call) ([]rueidis.RedisMessage, error) {
	commands := make([]rueidis.Completed, len(calls))
	for i := range calls {
		commands[i] = calls[i].command(s.client)
	}
	results := s.client.DoMulti(ctx, commands...)
	var unknown []int
	var texts []rueidis.Completed
	for i := range results {
		if fault, ok := rueidis.IsRedisErr(results[i].Error()); ok && fault.IsNoScript() {
			unknown = append(unknown, i)
			texts = append(texts, calls[i].withText(s.client))
		}
	}
	if len(unknown) > 0 {
		for i, result := range s.client.DoMulti(ctx, texts...) {
			results[unknown[i]] = result
		}
	}
	out := make([]rueidis.RedisMessage, len(results))
	for i := range results {
		reply, err := results[i].ToMessage()
		if err != nil && !errors.Is(err, rueidis.Nil) {
			return nil, fmt.Errorf("script on %q: %w", calls[i].key, err)
		}
		out[i] = reply
	}
	return out, nil
}
