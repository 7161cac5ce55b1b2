package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// publishedLog is a synthetic file in the shape of a log that was published.
type publishedLog struct {
	name, text string
	fill       map[string]string // what a user answers to the placeholders of the advice
	advice     []string          // flags that the first run proposes
	counts     [5]int64          // reads, likes, dislikes, collections and followers
	exit       int
	says       []string // in the summary of the import
	shows      string   // in the first rows of the dry run
}

var publishedLogs = map[string]publishedLog{
	"without a header, seconds, like a shop's": {
		name: "shop.csv",
		text: "1,2268318,2520377,pv,1511544070\n1,2333346,2520771,fav,1511561733\n2,2268318,2520377,pv,1511572885.5\n2,2268318,2520377,pv,1.511572886e9\n3,2268318,2520377,cart,1511593493\n",
		fill: map[string]string{"KIND": "item", "cart=ACTION": "cart=skip"},
		advice: []string{
			"--columns user,subject,,event,time", "--biz KIND", "--time-unit s", "--events cart=ACTION,fav=collect,pv=read",
		},
		counts: [5]int64{3, 0, 0, 1, 0},
		says:   []string{"3 × read", "1 × collect", `skipped       1 × "cart"`},
		shows:  `1 read "1" item "2268318" 2017-11-24T17:21:10Z`,
	},
	"local times without a zone, in tabs": {
		name:   "views.tsv",
		text:   "user_id\tvideo_id\taction\tcreated_at\nu1\tv1\tview\t2025-04-14 21:39:11\nu2\tv1\tlike\t2025-04-14 21:40:00\nu2\tv1\tview\t2025-04-14 21:40:00\n",
		fill:   map[string]string{"KIND": "video", "UTC": "Asia/Shanghai"},
		advice: []string{"--user user_id", "--subject video_id", "--event action", "--time created_at", "--time-format '%Y-%m-%d %H:%M:%S'", "--time-zone UTC", "--events like=like,view=read"},
		counts: [5]int64{2, 1, 0, 0, 0},
		says:   []string{"2 × read", "1 × like"},
		shows:  "2025-04-14T13:39:11Z",
	},
	"without a header, with slashes in dates, and users that are missing": {
		name:   "plays.csv",
		text:   "NULL;s1;2025/07/06 19:02:46\nu1;s1;2025/07/06 19:02:47\n\\N;s2;2025/07/06 19:02:48\nnan;;2025/07/06 19:02:49\nu2;;2025/07/06 19:02:50\n",
		fill:   map[string]string{"KIND": "song", "ACTION": "read"},
		advice: []string{"--columns user,subject,time", "--biz KIND", "--all ACTION", "--time-format '%Y/%m/%d %H:%M:%S'", "--time-zone UTC"},
		counts: [5]int64{3, 0, 0, 0, 0},
		exit:   exitBadRows,
		says:   []string{"3 × read", "bad           2", `line 5: column "subject": bizId must not be empty`, "anonymous     3 rows whose user is NULL"},
		shows:  "1 read anonymous song",
	},
	"without times": {
		name:   "artists.csv",
		text:   "userId,artistId,plays\nu1,a1,13\nu2,a1,1\nu2,a2,7\n",
		fill:   map[string]string{"KIND": "artist", "ACTION": "like", "TIME": "2026-01-31"},
		advice: []string{"--user userId", "--subject artistId", "--all ACTION", "--at TIME", "--biz KIND"},
		counts: [5]int64{0, 3, 0, 0, 0},
		says:   []string{"3 × like"},
		shows:  "2026-01-31T00:00:00Z",
	},
	"JSON lines with null and absent members, and ISO times without a zone": {
		name: "events.jsonl",
		text: `{"visitorid":null,"itemid":7,"event":"view","timestamp":"2025-07-06T19:02:46.123"}` + "\n" +
			`{"itemid":7.0,"event":"view","timestamp":"2025-07-06T19:02:47"}` + "\n" +
			`{"visitorid":"u1","itemid":7e0,"event":"favorite","timestamp":"2025-07-06T19:02:48","more":[1]}` + "\n" +
			`{"visitorid":"u1","event":"view","timestamp":"2025-07-06T19:02:49"}` + "\n",
		fill:   map[string]string{"KIND": "item"},
		advice: []string{"--user visitorid", "--subject itemid", "--time timestamp", "--biz KIND", "--time-format %Y-%m-%dT%H:%M:%S", "--events favorite=like,view=read"},
		counts: [5]int64{2, 1, 0, 0, 0},
		exit:   exitBadRows,
		says:   []string{"2 × read", "1 × like", `line 4: column "itemid": bizId must not be empty`},
		shows:  "2025-07-06T19:02:46.123Z",
	},
}

var adviceOf = regexp.MustCompile(`(?s)(?:; try|, try) (.*?)\n`)

// TestPublishedLogsAreImported imports logs of several shapes as a user does who knows
// only the name of the file: the first run imports nothing and names the flags, a dry run
// shows the rows, and the last run imports them.
func TestPublishedLogsAreImported(t *testing.T) {
	t.Parallel()
	for shape, c := range publishedLogs {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			data, file := emptyData(t), filepath.Join(t.TempDir(), c.name)
			must.Succeed(t, os.WriteFile(file, []byte(c.text), 0o600))
			first := call(t, environment(), "import", "--data="+data, file)
			found := adviceOf.FindStringSubmatch(first.stderr + "\n")
			if first.code == 0 || found == nil {
				t.Fatalf("the first import ended with code %d and said %s, want an error with flags to try", first.code, first.stderr)
			}
			for _, flag := range c.advice {
				if !strings.Contains(found[1]+" ", flag+" ") {
					t.Errorf("the first import proposes %s, want %s among the flags", found[1], flag)
				}
			}
			advice := found[1]
			for placeholder, value := range c.fill {
				advice = strings.ReplaceAll(advice, placeholder, value)
			}
			flags := append([]string{"import", "--data=" + data}, shellWords(t, advice)...)
			dry := call(t, environment(), append(flags, "--dry-run", file)...)
			dry.want(t, c.exit, append(c.says, "dry run: nothing was imported")...)
			if rows := strings.Join(strings.Fields(dry.stdout), " "); !strings.Contains(rows, c.shows) {
				t.Errorf("the dry run does not show %q:\n%s", c.shows, dry.stdout)
			}
			if got := sumsIfAny(t, data); got != [5]int64{} {
				t.Errorf("after a dry run there are %v reads, likes, dislikes, collects and followers, want none", got)
			}
			call(t, environment(), append(flags, file)...).want(t, c.exit, c.says...)
			if got := sums(t, data, "TRUE"); got != c.counts {
				t.Errorf("there are %v reads, likes, dislikes, collects and followers, want %v", got, c.counts)
			}
			verified(t, data)
		})
	}
}

// sumsIfAny returns the sums of the database in data, or zeros if there is none.
func sumsIfAny(t *testing.T, data string) [5]int64 {
	t.Helper()
	if _, err := os.Stat(filepath.Join(data, databaseFile)); err != nil {
		return [5]int64{}
	}
	return sums(t, data, "TRUE")
}

// shellWords splits a command line as a shell does.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+line).Output()
	must.Succeed(t, err)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}
