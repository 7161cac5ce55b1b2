package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ovation/storage"
)

const (
	// MaxFileBytes is the maximum size of a file.
	MaxFileBytes = 1 << 20
	// maxEntries is the maximum number of tenants, and of kinds of content of a tenant.
	maxEntries = 2000
	// maxSettings is the maximum number of Settings of a Policy. A tenant with defaults
	// has its own Settings of every kind of content that the top of the file lists.
	maxSettings = 100_000
)

// site is the content of the file, or of one tenant in it.
type site struct {
	unknown  unknown
	defaults *yaml.Node
	biz      map[string]*yaml.Node
	tenants  map[string]site
}

// unknown states what happens to kinds of content that the file does not list.
type unknown string

const (
	allowUnknown  unknown = "allow"
	refuseUnknown unknown = "refuse"
)

const settingsName = "settings" // of the definition in the schema

var (
	users         = audience(Users, None)
	settingsShape = structure(
		field("allow", "Who may do what. A signed-in user may always take back what was done before.", structure(
			field("read", "Who may record reads. Default: anyone.", audience(Anyone, Users, None), allowed(Read)),
			field("like", "Who may like. Default: users.", users, allowed(Like)),
			field("dislike", "Who may dislike. Default: users.", users, allowed(Dislike)),
			field("collect", "Who may collect. Default: users.", users, allowed(Collect)),
			field("follow", "Who may follow. Default: users.", users, allowed(Follow)),
			field("comment", "Who may write and edit comments. Default: users.", users, allowed(Comment)),
		), func(s *Settings) *Settings { return s }),
		field("maxCommentLength", "Maximum length of a comment, in Unicode code points.",
			integer(1, storage.MaxCommentRunes), func(s *Settings) *int { return &s.MaxCommentRunes }),
		field("ratePerMinute", "How often one user, or one address for anonymous reads, may do it in a minute on one node; 0 means no limit.",
			perInteraction(integer(0, maxPerMinute)), func(s *Settings) *[Interactions]int { return &s.PerMinute }),
		field("counts", "Who sees the counts of a subject, besides its author.",
			audience(Public, Author), func(s *Settings) *Who { return &s.Counts }),
		field("likers", "Who sees which users like a subject, besides its author. Every user sees their own likes.",
			audience(Public, Author), func(s *Settings) *Who { return &s.Likers }),
		field("trending", "The trends of this kind of content.", structure(
			field("windows", "For which periods trends are computed; an empty list turns them off.",
				windows(), func(t *Trending) *Windows { return &t.Windows }),
			field("weights", "What one interaction of each type counts.",
				perInteraction(integer(-MaxWeight, MaxWeight)), func(t *Trending) *[Interactions]int { return &t.Weights }),
		), func(s *Settings) *Trending { return &s.Trending }),
		field("events", "Whether changes are logged as events, with --events.",
			boolean(), func(s *Settings) *bool { return &s.Events }),
	)
	unknownMember = field("unknown", "What happens to kinds of content that are not listed: they have the defaults, or nothing may be recorded for them. The kinds user, comment and video are always known.",
		oneOf(allowUnknown, refuseUnknown), func(s *site) *unknown { return &s.unknown })
	defaultsMember = field("defaults", "Settings that all kinds of content inherit.",
		deferred(settingsName, settingsShape, builtin), func(s *site) **yaml.Node { return &s.defaults })
	bizMember = field("biz", "Settings by kind of content.",
		mapping("kind of content", storage.ValidateBiz, `^[a-z][a-z0-9_-]{0,31}$`, maxEntries, deferred(settingsName, settingsShape, builtin)),
		func(s *site) *map[string]*yaml.Node { return &s.biz })
	siteShape = structure(unknownMember, defaultsMember, bizMember,
		field("tenants", "Settings by tenant. A tenant inherits everything above, and its own settings prevail.",
			mapping("tenant", storage.ValidateTenant, `^[a-z0-9][a-z0-9_-]{0,62}$`, maxEntries, structure(unknownMember, defaultsMember, bizMember)),
			func(s *site) *map[string]site { return &s.tenants }))
)

// maxPerMinute is the maximum of a rate limit.
const maxPerMinute = 60_000

func allowed(i Interaction) func(*Settings) *Who {
	return func(s *Settings) *Who { return &s.Allow[i] }
}

// perInteraction is a mapping with one value for each interaction.
func perInteraction(s shape[int]) shape[[Interactions]int] {
	members := make([]member[[Interactions]int], Interactions)
	for i := range members {
		members[i] = field(interactionNames[i], "Of type "+interactionNames[i]+".", s, func(of *[Interactions]int) *int { return &of[i] })
	}
	return structure(members...)
}

// Schema returns the JSON Schema (draft 2020-12) of the file.
func Schema() []byte {
	whole := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of Ovation",
		"$defs": object{settingsName: settingsShape.schema},
	}
	maps.Copy(whole, siteShape.schema)
	whole["type"] = "object"
	text, _ := json.MarshalIndent(whole, "", "  ") //nolint:errchkjson // it holds texts, numbers and maps of them
	return append(text, '\n')
}

// ReadFile returns the policy in a file. If the content is not valid, the error is a
// *FileError that lists all problems.
func ReadFile(path string) (*Policy, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse returns the policy in a text in YAML or JSON. The path is for errors only. Errors:
// *FileError.
func Parse(path string, text []byte) (*Policy, error) {
	whole := func(format string, args ...any) (*Policy, error) {
		return nil, &FileError{Path: path, Problems: []Problem{{Message: fmt.Sprintf(format, args...)}}}
	}
	if len(text) > MaxFileBytes {
		return whole("the file is larger than %d MiB, the maximum", MaxFileBytes>>20)
	}
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return whole("the file is empty; without settings of its own, a site needs no file")
	}
	if err == nil {
		if err = decoder.Decode(&second); err == nil {
			return whole("the file has several documents (---); it must have one")
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, &FileError{Path: path, Problems: []Problem{syntaxProblem(err, text)}}
	}
	r, content := new(reader), site{unknown: allowUnknown}
	siteShape.read(r, cursor{node: document.Content[0]}, &content)
	if err := r.err(path); err != nil {
		return nil, err
	}
	built, total := content.build()
	if total > maxSettings {
		return whole("the tenants with defaults have %d combinations of tenant and kind of content in all; at most %d are allowed", total, maxSettings)
	}
	return built, nil
}

var (
	lineOf = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	// countsFromZero matches the messages for which the YAML parser states the line
	// counted from 0, and none for the first line.
	countsFromZero = regexp.MustCompile(`^did not find expected (key|node content|'-' indicator|',' or|<)|^found (undefined tag|duplicate|incompatible)`)
	unknownAnchor  = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntaxProblem returns the problem that an error of the YAML parser states.
func syntaxProblem(err error, text []byte) Problem {
	found := lineOf.FindStringSubmatch(err.Error())
	message := strings.TrimPrefix(err.Error(), found[0])
	line, _ := strconv.Atoi(found[1]) // 0 if the error has none
	if countsFromZero.MatchString(message) {
		line++
	}
	if anchor := unknownAnchor.FindStringSubmatch(message); anchor != nil {
		before, _, _ := bytes.Cut(text, []byte("*"+anchor[1]))
		line = 1 + bytes.Count(before, []byte("\n"))
	}
	return Problem{Line: line, Message: "it is not valid YAML: " + message}
}

// build returns the policy of a file that has been checked. If total is above maxSettings,
// the policy is nil.
func (s *site) build() (p *Policy, total int) {
	total = len(s.biz)
	for _, t := range s.tenants {
		if total += len(t.biz); t.defaults != nil {
			total += len(s.biz)
		}
	}
	if total > maxSettings {
		return nil, total
	}
	p = &Policy{top: resolve(s, nil), tenants: make(map[string]tenant, len(s.tenants)), listed: len(s.biz)}
	p.scan(p.top)
	for name, t := range s.tenants {
		own := resolve(&t, &p.top)
		p.tenants[name] = own
		p.scan(own)
	}
	return p, total
}

// resolve returns the settings of a tenant. If t is the top of the file itself, above is
// nil; otherwise it has the settings of the top.
func resolve(t *site, above *tenant) tenant {
	base := builtin
	if above != nil {
		base = *above.others
	}
	others := over(base, t.defaults)
	if t.unknown != "" {
		others.Known = t.unknown == allowUnknown
	}
	out := tenant{others: &others, biz: make(map[string]*Settings, len(t.biz)+len(kept))}
	add := func(biz string) {
		inherited := base
		if above != nil && above.biz[biz] != nil {
			inherited = *above.biz[biz]
		}
		settings := over(inherited, t.defaults)
		settings = over(settings, t.biz[biz])
		settings.Known = true
		out.biz[biz] = &settings
	}
	for _, biz := range kept {
		add(biz)
	}
	for biz := range t.biz {
		add(biz)
	}
	if above == nil {
		return out
	}
	for biz, settings := range above.biz {
		switch {
		case out.biz[biz] != nil:
		case t.defaults == nil:
			out.biz[biz] = settings
		default:
			add(biz)
		}
	}
	return out
}

// over returns settings with what a node of the file states, which may be nil.
func over(settings Settings, node *yaml.Node) Settings {
	if node != nil {
		settingsShape.read(new(reader), cursor{node: node}, &settings)
	}
	return settings
}
