// Package prices holds operations whose prices the documents state. Tests compare those
// prices with the code, and with the CPU time that the operations take.
package prices

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql/introspection"
)

// Sender is the kind of user who sends a request.
type Sender int

// The kinds of users.
const (
	Anonymous Sender = iota
	SignedIn
	Account // with a token of an account of the site
	BackEnd // with a token with the scope actions:write
)

// Page is the number of subjects or entries on a page.
const Page = 20

// Operation is an operation of a GraphQL client.
type Operation struct {
	// Name is the row of the table in docs/operations.md.
	Name  string
	By    Sender
	Query string
	// Variables returns the variables of the i-th request. The user "user I" sends it,
	// where I is i modulo Users, as do the users with an account of this name.
	Variables func(i int) map[string]any
}

// Users is the number of users who send requests.
const Users = 50

// Password is the password of the users with an account.
const Password = "the password of a user"

func subject(i int) map[string]any {
	return map[string]any{"biz": "video", "bizId": strconv.Itoa(i)}
}

func subjects(from, n int) map[string]any {
	all := make([]any, n)
	for i := range all {
		all[i] = subject(from + i)
	}
	return map[string]any{"s": all}
}

func input(name, fields string) string {
	return "mutation($in: " + strings.ToUpper(name[:1]) + name[1:] + "Input!) { " + name + "(input: $in) { " + fields + " } }"
}

func in(values map[string]any, more ...string) map[string]any {
	for i := 0; i < len(more); i += 2 {
		values[more[i]] = more[i+1]
	}
	return map[string]any{"in": values}
}

// Operations are the operations of the table.
var Operations = []Operation{
	{"a page of 20 subjects with the viewer's states", SignedIn, `query($s: [SubjectInput!]!) { interactives(subjects: $s) { biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected { at } } }`, func(i int) map[string]any {
		return subjects(i*7%500, Page)
	}},
	{"the counts of one subject", Anonymous, `query($id: ID!) { interactive(biz: "video", bizId: $id) { readCount likeCount } }`, func(i int) map[string]any { return map[string]any{"id": strconv.Itoa(i % 500)} }},
	{"`node` of one subject", Anonymous, `query($id: ID!) { node(id: $id) { id ... on Interactive { readCount likeCount } } }`, func(int) map[string]any { return map[string]any{"id": "SW50ZXJhY3RpdmU6dmlkZW86MQ"} }},
	{"20 likers of a subject", SignedIn, `query($id: ID!) { interactive(biz: "video", bizId: $id) { likers(first: 20) { edges { node { at user { userId } } } pageInfo { hasNextPage endCursor } } } }`, func(i int) map[string]any { return map[string]any{"id": strconv.Itoa(i % 5)} }},
	{"20 comments of a subject, with their authors", Anonymous, `query($id: ID!) { interactive(biz: "video", bizId: $id) { comments(first: 20) { edges { node { commentId text at author { userId profile { name avatarUrl } } } } pageInfo { hasNextPage endCursor } } } }`, func(i int) map[string]any { return map[string]any{"id": strconv.Itoa(i % 5)} }},
	{"`like`", SignedIn, input("like", "changed durability interactive { likeCount }"), func(i int) map[string]any { return in(subject(i / Users)) }},
	{"`collect`", SignedIn, input("collect", "changed interactive { collectCount }"), func(i int) map[string]any { return in(subject(i / Users)) }},
	{"`follow`", SignedIn, input("follow", "changed interactive { followerCount }"), func(i int) map[string]any {
		return in(map[string]any{"biz": "user", "bizId": "someone " + strconv.Itoa(i/Users)})
	}},
	{"`read`", Anonymous, input("read", "changed"), func(i int) map[string]any { return in(subject(i % 500)) }},
	{"`recordActions` of 100 likes", BackEnd, input("recordActions", "changed"), func(i int) map[string]any {
		likes := make([]any, 100)
		for n := range likes {
			likes[n] = map[string]any{"action": "LIKE", "userId": fmt.Sprint("user ", n), "biz": "video", "bizId": fmt.Sprint("batch ", i), "at": "2026-01-31T12:00:00Z"}
		}
		return in(map[string]any{"requestId": fmt.Sprint("batch ", i), "actions": likes})
	}},
	{"`addComment`", SignedIn, input("addComment", "comment { commentId at }"), func(i int) map[string]any { return in(subject(i%5), "text", fmt.Sprint("comment ", i)) }},
	{"`sendMessage`", SignedIn, input("sendMessage", "message { at }"), func(i int) map[string]any {
		return in(map[string]any{"to": "friend " + strconv.Itoa(i%7)}, "text", fmt.Sprint("message ", i))
	}},
	{"`register`", Anonymous, `mutation($in: RegisterInput!) { register(input: $in) { token user { userId } } }`, func(i int) map[string]any {
		return in(map[string]any{"name": "new " + strconv.Itoa(i)}, "password", Password)
	}},
	{"`logIn`", Anonymous, `mutation($in: LogInInput!) { logIn(input: $in) { token user { userId } } }`, func(i int) map[string]any {
		return in(map[string]any{"name": "user " + strconv.Itoa(i%Users)}, "password", Password)
	}},
	{"`changePassword`", Account, input("changePassword", "token"), func(int) map[string]any {
		return in(map[string]any{"currentPassword": Password}, "newPassword", Password)
	}},
	{"a mutation of ten likes", SignedIn, tenLikes(), func(i int) map[string]any {
		values := map[string]any{}
		for n := range 10 {
			values[fmt.Sprint("id", n)] = fmt.Sprint("ten ", i/Users, " ", n)
		}
		return values
	}},
	{"the first comment of each of 100 subjects", Anonymous, `query($s: [SubjectInput!]!) { interactives(subjects: $s) { comments(first: 1) { edges { node { commentId } } } } }`, func(i int) map[string]any {
		return subjects(i, 100)
	}},
	{"introspection of the whole schema", Anonymous, introspection.Query, func(int) map[string]any { return nil }},
}

func tenLikes() string {
	var variables, fields strings.Builder
	for n := range 10 {
		fmt.Fprintf(&variables, "$id%d: ID! ", n)
		fmt.Fprintf(&fields, `a%d: like(input: {biz: "video", bizId: $id%d}) { changed } `, n, n)
	}
	return "mutation(" + variables.String() + ") { " + fields.String() + "}"
}

// Documented returns the prices of a table of docs/operations.md: the units of each operation,
// by the name of its row. The path leads to the top folder.
func Documented(path string) (map[string]int, error) {
	text, err := os.ReadFile(path + "/docs/operations.md")
	if err != nil {
		return nil, err
	}
	_, table, found := strings.Cut(string(text), "| operation | units |\n|---|--:|\n")
	if !found {
		return nil, errors.New("docs/operations.md has no table of prices")
	}
	out := map[string]int{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 {
			break
		}
		units, err := strconv.Atoi(strings.ReplaceAll(strings.Trim(cells[1], " |"), ",", ""))
		if err != nil {
			return nil, err
		}
		out[strings.TrimPrefix(cells[0], "| ")] = units
	}
	return out, nil
}
