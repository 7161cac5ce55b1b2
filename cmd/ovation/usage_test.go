package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"ovation/internal/testing/must"
)

func TestEveryFlagHasAVariableAndHelp(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("ovation"))
	must.Succeed(t, err)
	seen := map[string]string{}
	for _, command := range parser.Model.Leaves(false) {
		for _, flag := range command.Flags {
			if strings.HasSuffix(command.FullPath(), " replay") && (flag.Name == "all" || flag.Name == "force") || command.FullPath() == "ovation erase" && flag.Name == "yes" {
				continue // too dangerous for a variable, which might be set unnoticed
			}
			variable := strings.Join(flag.Envs, ",")
			if !strings.HasPrefix(variable, "OVATION_") || flag.Help == "" {
				t.Errorf("%s --%s has variable %q, help %q, want OVATION_… and a text", command.Name, flag.Name, variable, flag.Help)
			}
			use := flag.Name + " " + reflect.TypeOf(flag.Target.Interface()).String()
			if before := seen[variable]; before != "" && before != use {
				t.Errorf("%s is the variable of %s and of %s, want one use", variable, before, use)
			}
			seen[variable] = use
		}
	}
}

func TestHelp(t *testing.T) {
	call(t, environment(), "--help").want(t, 0, "dev", "import", "verify", "token", "version")
	call(t, environment(), "dev", "--help").want(t, 0, "--addr", "127.0.0.1:8080", "$OVATION_ADDR", "$OVATION_JWT_SECRET")
	call(t, environment(), "import", "--help").want(t, 0, "$OVATION_IMPORT_MAP", "Exit codes", "CI&T Deskdrop", `"timeUnit": "s"`)
	call(t, environment(), "verify", "--help").want(t, 0, "--repair", "else can write to it", "Exit codes")
}

// The help lists every command once, below the title of its group.
func TestHelpIsInGroups(t *testing.T) {
	help := call(t, environment(), "--help").stdout
	at := 0
	for _, want := range []string{
		"\nRun a server:\n", "\n  dev ", "\n  serve ", "\nMove and check data:\n", "\n  import ", "\n  verify ",
		"\nLook after Postgres and RabbitMQ:\n", "\n  dead ", "\nDevelop and configure:\n", "\n  completion ",
	} {
		i := strings.Index(help[at:], want)
		if i < 0 {
			t.Fatalf("the help does not have %q after the others:\n%s", want, help)
		}
		at += i
	}
	parser, err := kong.New(&commandLine{}, kong.Name("ovation"), mappers())
	must.Succeed(t, err)
	for _, command := range parser.Model.Children {
		if n := strings.Count(help, "\n  "+command.Name+" "); !command.Hidden && (n != 1 || command.Group == nil) {
			t.Errorf("the help lists %s %d times, want once, in a group", command.Name, n)
		}
	}
	call(t, environment(), "dead", "--help").want(t, 0, "\nCommands:\n", "\n  dead list ")
}

func TestHelpIsACommandToo(t *testing.T) {
	for _, c := range [][2]string{{"help", "--help"}, {"help dev", "dev --help"}, {"help dead replay", "dead replay --help"}} {
		want := call(t, environment(), strings.Fields(c[1])...)
		if got := call(t, environment(), strings.Fields(c[0])...); got.stdout != want.stdout || got.stderr != want.stderr || got.code != 0 || want.code != 0 {
			t.Errorf("%s: got %+v, want %+v as of %s, with exit code 0", c[0], got, want, c[1])
		}
	}
	call(t, environment(), "help", "nothing").want(t, exitUsage, "nothing")
}

func TestVersion(t *testing.T) {
	for _, how := range []string{"version", "--version"} {
		call(t, environment(), how).want(t, 0, "ovation ", "commit", "go1.")
	}
}

// A flag precedes its variable, and the variable the default. The environment of the test
// itself has a PATH, which does not count.
func TestVariablesComeFromTheProgramOnly(t *testing.T) {
	for _, c := range []struct{ variable, flag, want string }{
		{"", "", "default"},
		{"variable", "", "variable"},
		{"variable", "--path=flag", "flag"},
		{"", "--path=", ""},
	} {
		var line struct {
			Path string `default:"default" env:"PATH"`
		}
		parser, err := kong.New(&line, kong.Resolvers(variables(environment("PATH", c.variable))))
		must.Succeed(t, err)
		must.Succeed(t, adaptValues(parser.Model))
		_, err = parser.Parse(strings.Fields(c.flag))
		must.Succeed(t, err)
		if line.Path != c.want {
			t.Errorf("variable %q, flag %q: got %q, want %q", c.variable, c.flag, line.Path, c.want)
		}
	}
}

// Every variable that docker-compose.yml sets is one of a flag.
func TestComposeSetsVariablesOfFlags(t *testing.T) {
	text, err := os.ReadFile("../../docker-compose.yml")
	must.Succeed(t, err)
	parser, err := kong.New(&commandLine{}, kong.Name("ovation"))
	must.Succeed(t, err)
	known := map[string]bool{"OVATION_DATABASE_PASSWORD": true} // of Postgres
	for _, command := range parser.Model.Leaves(false) {
		for _, flag := range command.Flags {
			for _, variable := range flag.Envs {
				known[variable] = true
			}
		}
	}
	set := regexp.MustCompile(`(?m)^ +(OVATION_[A-Z_]+):`).FindAllStringSubmatch(string(text), -1)
	if len(set) < 10 {
		t.Errorf("docker-compose.yml sets %d variables, want at least 10", len(set))
	}
	for _, variable := range set {
		if !known[variable[1]] {
			t.Errorf("docker-compose.yml sets %s, which is not the variable of a flag", variable[1])
		}
	}
}

// A build without a tag has the number of the topmost version in the changelog.
func TestVersionIsThatOfTheChangelog(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	must.Succeed(t, err)
	first := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)`).FindSubmatch(text)
	if first == nil {
		t.Fatal("CHANGELOG.md lists no version")
	}
	if want := string(first[1]); strings.TrimSuffix(version, "-dev") != want {
		t.Errorf("version = %s, want %s, the first one of CHANGELOG.md", version, want)
	}
}

func TestUsageErrorsNameTheCauseAndItsSource(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Succeed(t, os.WriteFile("empty.json", nil, 0o600))
	must.Succeed(t, os.WriteFile("wrong.json", []byte(`{"biz": "Video"}`), 0o600))
	for _, c := range []struct {
		variables, args string
		want            []string
	}{
		{"", "", []string{`expected one of "dev"`}},
		{"", "dev --addr", []string{"--addr: a value is missing\n"}},
		{"", "dev --addr --demo", []string{`--addr: a value is missing before "--demo"`}},
		{"", "dev --trusted-documents", []string{"--trusted-documents: a value is missing\n"}},
		{"", "dev --jwt-secret -hush", []string{"--jwt-secret: a value is missing; if it begins with -, write --jwt-secret=SECRET\n"}},
		{"", "dev --no-access-log=perhaps", []string{`must be true, 1, yes, false, 0 or no but got "perhaps"` + "\n"}},
		{"OVATION_TOKEN_TENANT=A", "token", []string{"--tenant: from the variable OVATION_TOKEN_TENANT: tenant must be"}},
		{"", "token --user a --ttl", []string{"--ttl: a value is missing\n"}},
		{"OVATION_RABBITMQ_URL=amqp://x OVATION_DEAD_ALL=1", "dead replay", []string{"--all"}},
		{"", "dev --addr host:http", []string{"is not an address"}},
		{"", "dev --addr host:65536", []string{"is not an address"}},
		{"OVATION_ADDR=8080", "dev", []string{"--addr", "from the variable OVATION_ADDR", `"8080" is not an address`}},
		{"OVATION_DEMO=perhaps", "dev", []string{"--demo", "OVATION_DEMO", "perhaps"}},
		{"OVATION_LOG_LEVEL=loud", "dev", []string{"OVATION_LOG_LEVEL", `"loud" is not a level`, "debug, info"}},
		{"", "dev --allowed-origins https://a.example,b.example", []string{"--allowed-origins", `"b.example" is not an origin: write scheme://host`}},
		{"", "dev --allowed-origins https://a.example/", []string{"write https://a.example"}},
		{"", "dev --only-trusted", []string{"--only-trusted or OVATION_ONLY_TRUSTED", "--trusted-documents or OVATION_TRUSTED_DOCUMENTS, which must name a file"}},
		{"", "dev --jwt-secret hush", []string{"--jwt-secret", "4 bytes long; at least 32"}},
		{"OVATION_JWT_SECRET=hush", "dev", []string{"from the variable OVATION_JWT_SECRET", "4 bytes long"}},
		{"OVATION_POSTGRES_URL=postgres://x", "dev", []string{"OVATION_POSTGRES_URL is set", "data folder: unset it, or use ovation serve"}},
		{"OVATION_PARTITIONS=0", "serve", []string{"--partitions: from the variable OVATION_PARTITIONS", `"0" is not a number from 1 to 256`}},
		{"", "dead list --partitions=257", []string{"--partitions", `"257" is not a number from 1 to 256`}},
		{"OVATION_PREFIX=a{b", "verify", []string{"--prefix: from the variable OVATION_PREFIX", `"a{b" is not a prefix`}},
		{"", "serve --drain=-1s", []string{"--drain", `"-1s" is not a duration`}},
		{"OVATION_MAX_ACTIONS_PER_SECOND=many", "work", []string{"from the variable OVATION_MAX_ACTIONS_PER_SECOND", `"many" is not a number`}},
		{"OVATION_POSTGRES_URL=postgres://x", "token --user a", []string{"OVATION_POSTGRES_URL is set", "set OVATION_JWT_SECRET to the secret of its nodes"}},
		{"", "token --user=", []string{"--user", "must not be empty"}},
		{"", "token --user a --tenant=", []string{"--tenant", "tenant must be"}},
		{"", "dev --data=", []string{"--data", "it must name a folder"}},
		{"OVATION_JWT_SECRET=0123456789012345678901234567890123", "token --user a --tenant A", []string{"tenant must be"}},
		{"", "token --user a --ttl day", []string{"--ttl", "day"}},
		{"", "import --map nothing x.csv", []string{"--map or OVATION_IMPORT_MAP", "there is deskdrop"}},
		{"", "import --map empty.json x.csv", []string{"--map or OVATION_IMPORT_MAP", "empty.json", "it is not JSON"}},
		{"", "import --map wrong.json x.csv", []string{"--map or OVATION_IMPORT_MAP", "biz must be"}},
		{"OVATION_IMPORT_TIME_UNIT=h", "import x.csv", []string{"from the variable OVATION_IMPORT_TIME_UNIT", `"h" is not one of`}},
		{"OVATION_IMPORT_BIZ=VIDEO", "import x.csv", []string{"from the variable OVATION_IMPORT_BIZ", "biz must be"}},
		{"", "import --biz video --biz-column b x.csv", []string{"--biz", "OVATION_IMPORT_BIZ_COLUMN", "exclude each other"}},
		{"", "import --events VIEW=look x.csv", []string{"--events or OVATION_IMPORT_EVENTS", `"VIEW" is mapped to "look"`}},
		{"", "import --all look x.csv", []string{"--all", `"look" is not one of author, clear, collect`}},
		{"", "import --map mastodon_likes likes.json", []string{"--map or OVATION_IMPORT_MAP", "do not name the user or the time of their rows; try --user-id USER --at TIME"}},
		{"", "import --map mastodon_likes --at 2026-01-31 likes.json", []string{"; try --user-id USER"}},
		{"", "import --user uid --user-id alice x.csv", []string{"--user or OVATION_IMPORT_USER, and --user-id or OVATION_IMPORT_USER_ID, exclude each other"}},
		{"", "import --unmapped drop x.csv", []string{"--unmapped", `"drop" is not one of skip, bad`}},
		{"", "import --map interactive --user uid x.csv", []string{"a table of counts", "excludes --subjects, --user, --user-id"}},
		{"", "import --counts read=views --all read x.csv", []string{"a table of counts", "excludes --subjects"}},
		{"", "import --biz video --counts likes=likes x.csv", []string{`counts has the member "likes", which is not one of read, like`}},
		{"", "import --subjects --all read x.csv", []string{"--subjects or OVATION_IMPORT_SUBJECTS, and --map, --all"}},
		{"", "import --all read --event type x.csv", []string{"--all or OVATION_IMPORT_ALL, and --event, --events"}},
		{"OVATION_IMPORT_DELIMITER=::", "import x.csv", []string{"from the variable OVATION_IMPORT_DELIMITER", `"::" is not a delimiter`}},
		{"OVATION_IMPORT_PLACEHOLDER=\a", "import x.csv", []string{"from the variable OVATION_IMPORT_PLACEHOLDER", "placeholder contains U+0007"}},
		{"", "import --tenant A x.csv", []string{"--tenant", "must be"}},
		{"OVATION_IMPORT_TENANT=A", "import x.csv", []string{"from the variable OVATION_IMPORT_TENANT", "must be"}},
		{"", "import --format xml x.csv", []string{"--format", `"xml" is not one of csv, json, ndjson`}},
	} {
		var pairs []string
		for variable := range strings.FieldsSeq(c.variables) {
			name, value, _ := strings.Cut(variable, "=")
			pairs = append(pairs, name, value)
		}
		t.Run(c.variables+" "+c.args, func(t *testing.T) {
			got := call(t, environment(pairs...), strings.Fields(c.args)...)
			got.want(t, exitUsage, c.want...)
			if strings.Contains(got.stdout+got.stderr, "hush") {
				t.Error("the output contains the secret")
			}
		})
	}
}
