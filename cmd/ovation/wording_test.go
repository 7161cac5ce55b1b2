package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// Errors about incorrect use of the command line name the mistake and, where possible,
// propose what to write instead.
func TestMessagesOfWrongUse(t *testing.T) {
	for args, want := range map[string]string{
		"dev --port 1":                       "unknown flag --port; did you mean --addr?\nSee ovation dev --help.",
		"dev -addr 1":                        "unknown flag -a; did you mean --addr?",
		"dev --adr 1":                        "unknown flag --adr; did you mean --addr?",
		"dev --listen=:80":                   "unknown flag --listen; did you mean --addr?",
		"dev --dmeo":                         "unknown flag --dmeo; did you mean --demo?",
		"dev --no-acces-log":                 "unknown flag --no-acces-log; did you mean --no-access-log?",
		"dev --origins x":                    "unknown flag --origins; did you mean --allowed-origins?",
		"dev --secret x":                     "unknown flag --secret; did you mean --jwt-secret?",
		"dev --postgres-url x":               "unknown flag --postgres-url; it is a flag of ovation serve, ovation work,",
		"serve --demo":                       "unknown flag --demo; it is a flag of ovation dev\nSee ovation serve --help.",
		"serve --redis x":                    "unknown flag --redis; did you mean --redis-url?",
		"import --separator ; x.csv":         "unknown flag --separator; did you mean --delimiter?",
		"import --usr id x.csv":              "unknown flag --usr; did you mean --user?",
		"token --usr alice":                  "unknown flag --usr; did you mean --user?",
		"token --user alice --expires 1h":    "unknown flag --expires; did you mean --ttl?",
		"dev --quux":                         "unknown flag --quux\nSee ovation dev --help.",
		"--addr :80 dev":                     "unknown flag --addr; write flags behind the command: ovation dev --addr\nSee ovation --help.",
		"serv":                               "unexpected argument serv; did you mean serve?\nSee ovation --help.",
		"dead lst":                           "unexpected argument lst; did you mean list?\nSee ovation dead --help.",
		"version now":                        "unexpected argument now\nSee ovation version --help.",
		"token":                              "--user is missing; for example: ovation token --user alice\nSee ovation token --help.",
		"import":                             "<file> is missing; for example: ovation import --biz video --time-unit s events.csv",
		"partitions":                         "<count> is missing; for example: ovation partitions 8",
		"dead show":                          "<id> is missing; for example: ovation dead show ID, with an ID that ovation dead list prints",
		"dead list":                          "ovation dead needs the queue: set OVATION_RABBITMQ_URL, for example amqp://user:password@host:5672/. ovation dev has no dead letters.",
		"migrate":                            "set OVATION_POSTGRES_URL, for example postgres://user:password@host:5432/ovation.",
		"work":                               "set OVATION_POSTGRES_URL, OVATION_REDIS_URL, OVATION_RABBITMQ_URL. For example: OVATION_POSTGRES_URL=postgres://user:password@host:5432/ovation.",
		"dev --addr 8080":                    `--addr: "8080" is not an address: write host:port with a port from 0 to 65535, for example 127.0.0.1:8080; port 0 is any free one`,
		"token --user alice --ttl 1ms":       `--ttl: "1ms" is not a duration of at least a second: write for example 30m or 24h`,
		"serve --drain soon":                 `"soon" is not a duration of 0 or more: write for example 500ms, 10s or 1m`,
		"import --delimiter comma x.csv":     `"comma" is not a delimiter: write one character that is not a quote or line break, for example ';', or the word tab`,
		"import --time-unit seconds x.csv":   `--time-unit: "seconds" is not one of s, ms, us, rfc3339, auto`,
		"import --biz Video x.csv":           "--biz: biz must be 1 to 32 characters of a-z, 0-9, _ and -, starting with a letter",
		"dev --anonymous-percent 0":          `"0" is not a number from 1 to 100`,
		"work --concurrency 9":               `"9" is not a number from 1 to 8`,
		"verify --prefix a:b":                `"a:b" is not a prefix: write 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -`,
		"dead replay --rabbitmq-url amqp://": "name one dead letter, or write --all; ovation dead list prints their ids",
	} {
		t.Run(args, func(t *testing.T) {
			call(t, environment(), strings.Fields(args)...).want(t, exitUsage, want)
		})
	}
}

// A command's help shows its text above its flags. The text may therefore refer to flags
// "below", and the flags to text "above", but not the other way round.
func TestHelpPointsTheRightWay(t *testing.T) {
	for _, command := range []string{"import", "verify", "token", "partitions"} {
		help := call(t, environment(), command, "--help").stdout
		text, flags, found := strings.Cut(help, "Flags:")
		if !found {
			t.Fatalf("%s: the help has no flags:\n%s", command, help)
		}
		if strings.Contains(text, "above") || strings.Contains(flags, "below") {
			t.Errorf("the help of %s says \"above\" before its flags or \"below\" after them:\n%s", command, help)
		}
	}
	for command, parts := range map[string][]string{
		"import": {
			"JSON file as shown above", "in brackets below", "Column of the kind of content, instead of --biz (biz).", "Meanings of the values of that column: read, like,",
			"--events adds to them and overrides them", "Comments get the time of their row and appear in lists at that time.",
		},
		"dead list":   {"Use the dead letters of jobs for video covers instead of those of actions."},
		"dead replay": {"for which the ids of persisted messages are no longer kept; their reads may count twice"},
		"health":      {"Check whether the node is running (/healthz) instead of ready for requests (/readyz)."},
		"serve": {
			"The word any accepts every token, also those issued for other applications.", "How long to continue serving after /readyz reports that this node is stopping.",
			"if no secret is set", "in a burst, then one every 10 s; 0 means no limit",
		},
		"token": {`-H "Authorization: Bearer $(ovation token --user alice)"`, "with subjects:write a service declares", "an identity provider"},
	} {
		help := strings.Join(strings.Fields(call(t, environment(), append(strings.Fields(command), "--help")...).stdout), " ") // without line breaks
		for _, part := range parts {
			if !strings.Contains(help, part) {
				t.Errorf("the help of %s does not say %q: %s", command, part, help)
			}
		}
	}
}

// An error about an unusable key set states why it cannot be used.
func TestMessagesOfKeySets(t *testing.T) {
	folder := t.TempDir()
	notKeys := filepath.Join(folder, "page.html")
	must.Succeed(t, os.WriteFile(notKeys, []byte("<html>"), 0o600))
	for jwks, want := range map[string]string{
		"/nope.json":                        `--jwks or OVATION_JWKS: there is no file "/nope.json"`,
		"idp.example.com/.well-known/jwks":  `there is no file "idp.example.com/.well-known/jwks"; a URL begins with https://`,
		"http://idp.example.com/jwks":       "must be fetched by https: http is for loopback hosts only",
		"ftp://idp.example.com/jwks":        "must be a file or an https URL",
		folder:                              "is a directory",
		notKeys:                             `it is not a JSON Web Key Set, a JSON object with the member "keys"`,
		"https://127.0.0.1:1/jwks?secret=x": "connection refused",
	} {
		t.Run(jwks, func(t *testing.T) {
			call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+t.TempDir(), "--jwks="+jwks, "--audience=any").want(t, exitFailed, want)
		})
	}
}

// If flags would make a file readable, the error proposes the flags, with the names of
// the columns and events in the file.
func TestImportProposesFlags(t *testing.T) {
	const header = "user,subject,event,time\n"
	// A click log has one row per click, fields separated by tabs, and no column for the
	// event.
	const clicks = "user\titem\tat\nann\t7\t1500000000\nann\t7\t1500000001\nbob\t8\t1500000002\n"
	for name, c := range map[string]struct {
		flags, text string
		code        int
		want        string
	}{
		"columns": {
			"--biz video", "timestamp,eventType,contentId,personId\n1500000000,VIEW,1,ann\n", exitFailed,
			"nothing was imported; try --user personId --subject contentId --event eventType --time timestamp --time-unit s --events VIEW=read\n",
		},
		"columns with spaces":      {"--biz video --all read", "User ID,item,at\nann,1,2020-01-01T00:00:00Z\n", exitFailed, "; try --user 'User ID' --subject item --time at\n"},
		"no kind and action":       {"", "user,subject,time\nann,1,2020-01-01T00:00:00Z\n", exitFailed, "; try --all ACTION --biz KIND\n"},
		"unknown columns":          {"--biz video", "a,subject,event,b\nann,1,read,2\n", exitFailed, `has no column "user" or "time"; it has "a", "subject", "event", "b"; nothing was imported; try --user COLUMN --at TIME`},
		"delimiter":                {"--biz video --delimiter ,", "user;subject;event;time\nann;1;read;1500000000\n", exitFailed, "the header looks separated by ';'; nothing was imported; try --delimiter ';'\n"},
		"unusual delimiter":        {"--biz video", "user:subject:event:time\nann:1:read:1500000000\n", exitFailed, "try --delimiter CHARACTER"},
		"time unit":                {"--biz video", header + "ann,1,read,1500000000\n", exitBadRows, "no row was imported; try --time-unit s\n"},
		"events":                   {"--biz video --time-unit s", header + "ann,1,view,1500000000\nann,1,view,1500000001\nann,1,SHARE IT,1500000001\n", exitBadRows, "all rows were skipped: none of their events is mapped to an action; try --events 'view=read,SHARE IT=ACTION'\n"},
		"events of NDJSON":         {"--biz video --time-unit s", `{"user":"ann","subject":"1","event":"heart","time":1500000000}` + "\n", exitBadRows, "; try --events heart=like\n"},
		"skipped on purpose":       {"--biz video --time-unit s --events view=skip", header + "ann,1,view,1500000000\n", 0, `1 × "view": mapped to skip`},
		"clicks":                   {"--biz video --subject item --time at --time-unit s --all read --delimiter tab", clicks, 0, "imported      3 × read"},
		"authors that are missing": {"--subjects", "biz,bizId,author,at\nvideo,1,NULL,2020-01-01T00:00:00Z\n", 0, "no author     1 rows whose author is NULL"},
		"authors":                  {"--subjects --user writer", "biz,bizId,writer,at\nvideo,1,alice,2020-01-01T00:00:00Z\nvideo,2,,2020-01-01T00:00:00Z\n", 0, "imported      2 × author"},
		"only a header":            {"--biz video", header, 0, "rows          0"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rows")
			must.Succeed(t, os.WriteFile(file, []byte(c.text), 0o600))
			args := append([]string{"import", "--data=" + emptyData(t)}, strings.Fields(c.flags)...)
			call(t, environment(), append(args, file)...).want(t, c.code, c.want)
		})
	}
	call(t, environment(), "import", "--data="+t.TempDir(), "--biz=video", "missing.csv").want(t, exitFailed, `import: there is no file "missing.csv"`)
}
