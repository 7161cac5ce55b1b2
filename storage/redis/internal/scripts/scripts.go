package scripts

import (
	"crypto/sha1" //nolint:gosec // Redis identifies scripts by SHA-1
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"
)

//go:embed lua/entry.lua
var entryText string

//go:embed lua/read.lua
var readText string

//go:embed lua/fill.lua
var fillText string

//go:embed lua/apply.lua
var applyText string

//go:embed lua/mark.lua
var markText string

//go:embed lua/invalidate.lua
var invalidateText string

//go:embed lua/fence.lua
var fenceText string

//go:embed lua/counts.lua
var countsText string

//go:embed lua/document.lua
var documentText string

//go:embed lua/each.lua
var eachText string

// The scripts. The Lua file of each script documents its keys, arguments and reply.
var (
	Read       = newScript(entryText, readText)
	Fill       = newScript(entryText, fillText)
	Apply      = newScript(entryText, applyText)
	Mark       = newScript(entryText, markText)
	Invalidate = newScript(entryText, invalidateText)
	Fence      = newScript("", fenceText)
	Counts     = newScript("", countsText)

	Document = newScript("", documentText)
)

// Script is a Lua script in two forms: for a single key, and for a batch of keys.
type Script struct{ Single, Batch source }

// source is the text of a script and the hash that identifies the script in Redis.
type source struct{ Text, SHA string }

// newScript returns a script that begins with a prelude and continues with its own source.
// The prelude (the parameter before) is shared by several scripts, and may be empty.
func newScript(before, own string) *Script {
	begin := "local function one(KEYS, ARGV)\n"
	if before != "" {
		begin += "window = KEYS[1]\n"
	}
	return &Script{newSource(before + own), newSource(before + begin + own + "\nend\n" + eachText)}
}

func newSource(text string) source {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // Redis identifies scripts by SHA-1
	return source{text, hex.EncodeToString(sum[:])}
}

// Call is a call of a script on one key. The arguments of the script are the elements of
// shared, followed by those of Args. Calls with the same slice in the field shared may be
// sent in one batch. A Call without a Script reads a field of a hash.
type Call struct {
	*Script

	key    string
	shared []string
	Args   []string
}

// Limits of a batch. A batch delays all other clients while it runs.
const (
	batchKeys = 50
	batchArgs = 1000
)

// batch is a sequence of calls sent as one command.
type batch []Call

// maxBatch returns the maximum number of calls in a batch: 1 on a cluster.
func maxBatch(client rueidis.Client) int {
	if client.Mode() == rueidis.ClientModeCluster {
		return 1
	}
	return batchKeys
}

// joinsBatch reports whether c may be in the same batch as other.
func (c *Call) joinsBatch(other *Call) bool {
	return c.Script != nil && c.Script == other.Script && len(c.shared) == len(other.shared) &&
		(len(c.shared) == 0 || &c.shared[0] == &other.shared[0])
}

// command returns the batch as one command: EVAL with the source of the script if withText
// is true, and EVALSHA otherwise. A call without a script becomes HGET.
func (t batch) command(client rueidis.Client, withText bool) rueidis.Completed {
	if t[0].Script == nil {
		return client.B().Hget().Key(t[0].key).Field(t[0].Args[0]).Build()
	}
	form, many := t[0].Single, len(t) > 1
	if many {
		form = t[0].Batch
	}
	command := client.B().Arbitrary("EVALSHA", form.SHA)
	if withText {
		command = client.B().Arbitrary("EVAL", form.Text)
	}
	command = command.Args(strconv.Itoa(len(t))).Keys(t[0].key) // the client selects the server by this key
	for i := range t[1:] {
		command = command.Args(t[i+1].key)
	}
	if many {
		command = command.Args(strconv.Itoa(len(t[0].shared)))
	}
	command = command.Args(t[0].shared...)
	for i := range t {
		if many {
			command = command.Args(strconv.Itoa(len(t[i].Args)))
		}
		command = command.Args(t[i].Args...)
	}
	return command.Build()
}

// replies returns the reply to each call.
func (t batch) replies(of rueidis.RedisResult) ([]rueidis.RedisMessage, error) {
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

// Field returns a call that reads one field of a hash. A single server runs the calls of a
// pipeline in order, so it reads the field before it runs the calls that follow.
func Field(key, field string) Call { return Call{key: key, Args: []string{field}} }

// On returns a call of the script on a key. The arguments of the script are the elements
// of shared, followed by args. The slice shared may be used in several calls.
func (s *Script) On(key string, shared []string, args ...string) Call {
	return Call{s, key, shared, args}
}
