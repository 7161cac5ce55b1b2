package scripts

import (
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

// The scripts. The file of each tells its keys, arguments and reply.
var (
	Look   = newScript(entryText, lookText)
	Fill   = newScript(entryText, fillText)
	Show   = newScript(entryText, showText)
	Mark   = newScript(entryText, markText)
	Forget = newScript(entryText, forgetText)
	Fence  = newScript("", fenceText)
	Counts = newScript("", countsText)

	Document = newScript("", documentText)
)

// Script is a Lua script in two forms: for one key, and for many.
type Script struct{ One, Many lua }

// lua is a text and the name that Redis has for it.
type lua struct{ Text, SHA string }

// newScript makes a script of what stands before it and its own part.
func newScript(before, own string) *Script {
	begin := "local function one(KEYS, ARGV)\n"
	if before != "" {
		begin += "window = KEYS[1]\n"
	}
	return &Script{newLua(before + own), newLua(before + begin + own + "\nend\n" + eachText)}
}

func newLua(text string) lua {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // Redis names scripts so
	return lua{text, hex.EncodeToString(sum[:])}
}

// Call is a script with its one key and its arguments: those that it may share
// with the calls before and after it, and its own.
type Call struct {
	*Script

	key    string
	shared []string
	Args   []string
}

// Calls of one script go to Redis together, so many keys with so many arguments
// at most: everybody else waits meanwhile.
const (
	keysTogether = 50
	argsTogether = 1000
)

// together are calls that go to Redis as one.
type together []Call

// togetherAt is how many calls go together: each by itself where not all keys
// lie in one place.
func togetherAt(client rueidis.Client) int {
	if client.Mode() == rueidis.ClientModeCluster {
		return 1
	}
	return keysTogether
}

// joins reports whether a call may go together with another one.
func (c *Call) joins(other *Call) bool {
	return c.Script == other.Script && len(c.shared) == len(other.shared) &&
		(len(c.shared) == 0 || &c.shared[0] == &other.shared[0])
}

// command is the calls as a command: by the name of the script, or with its text.
func (t together) command(client rueidis.Client, withText bool) rueidis.Completed {
	form, many := t[0].One, len(t) > 1
	if many {
		form = t[0].Many
	}
	command := client.B().Arbitrary("EVALSHA", form.SHA)
	if withText {
		command = client.B().Arbitrary("EVAL", form.Text)
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
			command = command.Args(strconv.Itoa(len(t[i].Args)))
		}
		command = command.Args(t[i].Args...)
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

// On returns a call of the script on a key, with arguments that it may share with
// others and its own.
func (s *Script) On(key string, shared []string, args ...string) Call {
	return Call{s, key, shared, args}
}
