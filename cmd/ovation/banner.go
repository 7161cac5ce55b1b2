package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"ovation/api/openapi"
	"ovation/api/viewer"
)

// examples are the operations that the banner suggests. They are written for the demo
// data, but are valid with any data.
var examples = []struct{ says, query string }{
	{
		"Like a video, and see its counts",
		`mutation { like(input: {biz: "video", bizId: "2"}) { changed durability interactive { likeCount liked { reaction at } } } }`,
	},
	{
		"A page of subjects with what you did to them",
		`{ interactives(subjects: [{biz: "video", bizId: "1"}, {biz: "video", bizId: "2"}, {biz: "article", bizId: "7"}]) { biz bizId readCount likeCount collectCount liked { reaction } collected { folder { name } } } }`,
	},
	{
		"Your likes, newest first, and your folders",
		`{ viewer { userId likes(first: 5) { edges { node { at interactive { biz bizId likeCount } } } } folders { edges { node { name public itemCount } } } } }`,
	},
}

// demoViewer is the id of the user for whom the banner prints a token and examples.
const demoViewer = "alice"

// banner prints the server's addresses, a token and examples to try. The parameter
// metrics is the address of /metrics, or nil if /metrics is served at addr. The parameter
// pageBuilt tells whether the web pages have been built.
func (c *devCommand) banner(to io.Writer, addr, metrics net.Addr, token string, pageBuilt bool) {
	number, _ := built()
	url := "http://" + reachable(addr)
	folder := c.path()
	if metrics == nil {
		metrics = addr
	}
	demo, page := url+"/demo", url+"/"
	if c.devHeaders() == viewer.RefuseDevHeaders {
		demo += "#token=" + token
	}
	if !pageBuilt {
		page = "not built: this requires Node.js 20.19 or newer; " + page + " says how"
		demo = page
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n  Ovation %s\n\n", number)
	described := url + openapi.Path
	if !c.Douyin && !c.Videos {
		described = "nothing to describe: --douyin and --videos are off"
	}
	writeRows(&b, [][2]string{
		{"Demo", demo},
		{"GraphiQL", page},
		{"Data page", c.dataPage(url, pageBuilt)},
		{"GraphQL", url + "/graphql"},
		{"Schema", url + "/schema.graphqls"},
		{"OpenAPI", described},
		{"Metrics", "http://" + reachable(metrics) + "/metrics"},
		{"Health", url + "/healthz, " + url + "/readyz"},
		{"Store", "SQLite, " + filepath.Join(folder, databaseFile)},
		{"Queue", "in this process"},
		{"Data", folder},
	})
	writeToken(&b, token, c.dataFlag, c.JWTSecret != "")
	as := "-H 'X-Ovation-User: " + demoViewer + "'"
	switch c.devHeaders() {
	case viewer.TrustDevHeaders:
		fmt.Fprintf(&b, "\n  WARNING: every client that can connect to %s can be any user, by X-Ovation-User (--insecure-dev-headers).\n", addr)
	case viewer.LocalDevHeaders:
		b.WriteString("\n  WARNING: every program on this machine can be any user, by X-Ovation-User (--dev-headers, --demo).\n" +
			"  Never put a reverse proxy in front of this: its clients could be any user too.\n")
	default:
		as = "-H 'Authorization: Bearer " + token + "'"
		if c.Demo {
			fmt.Fprintf(&b, "\n  Other machines can connect to %s, so X-Ovation-User is rejected.\n", addr)
		}
	}
	writeExamples(&b, url, as)
	sayf(to, "%s\n", b.String())
}

// dataPage returns the URL of the data page, or the reason why there is none.
func (c *devCommand) dataPage(url string, built bool) string {
	switch {
	case !built:
		return "not built"
	case c.devHeaders() == viewer.RefuseDevHeaders:
		return "needs --dev-headers, on a loopback address: it shows private data of users"
	}
	return url + "/data"
}

func writeRows(b *strings.Builder, rows [][2]string) {
	for _, row := range rows {
		fmt.Fprintf(b, "  %-9s %s\n", row[0], row[1])
	}
}

// writeToken writes a token and the command that issues further tokens. The command takes
// the secret from OVATION_JWT_SECRET if given is true, and otherwise from the data
// folder.
func writeToken(b *strings.Builder, token string, data dataFlag, given bool) {
	makes := commandName() + " token --data '" + strings.ReplaceAll(data.path(), "'", `'\''`) + "' --user USER"
	if given {
		makes = commandName() + " token --user USER, with the same OVATION_JWT_SECRET,"
	}
	fmt.Fprintf(b, "\n  A token for the user %s, valid for 24 hours. %s makes others.\n\n  %s\n", demoViewer, makes, token)
}

// commandName returns the command that runs this program, for printed examples. If the
// program's file is named ovation, the command is the path by which the program was
// called, such as bin/ovation. Otherwise, the command is ovation.
func commandName() string {
	if len(os.Args) > 0 && filepath.Base(os.Args[0]) == "ovation" {
		return shellWord(os.Args[0])
	}
	return "ovation"
}

// writeExamples writes the examples as curl commands, each with the curl option in the
// parameter as, which sets the header that identifies the user.
func writeExamples(b *strings.Builder, url, as string) {
	for _, example := range examples {
		body, err := json.Marshal(map[string]string{"query": example.query})
		if err != nil {
			continue // strings can always be encoded
		}
		fmt.Fprintf(b, "\n  # %s\n  curl -s %s/graphql -H 'Content-Type: application/json' %s -d '%s'\n", example.says, url, as, body)
	}
}

// reachable returns the address at which a client on this machine reaches addr.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
