package importer

import (
	"errors"
	"io"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

func TestBadRowsAreReportedByLineAndReason(t *testing.T) {
	const good = "ann,1,read,1500000000\n"
	nd := func(line string) string {
		return `{"user":"ann","subject":"1","event":"read","time":1500000000}` + "\n" + line
	}
	for _, c := range []struct {
		name, file, text string
		line             int
		reason           string
	}{
		{"too few fields", "a.csv", header + good + "ann,1\n" + good, 3, "has 2 fields where the header has 4"},
		{"too many fields", "a.csv", header + "ann,1,read,1500000000,x\n", 2, "has 5 fields"},
		{"after a quoted line break", "a.csv", "user,subject,event,\"ti\nme\",time\nann,1,read,\"\n\n\",soon\n", 3, `time "soon"`},
		{"quote within a field", "a.csv", header + "an\"n,1,read,1500000000\n" + good, 2, "bare \""},
		{"text behind a quote", "a.csv", header + "\"ann\"x,1,read,1500000000\n" + good, 2, "extraneous"},
		{"no subject", "a.csv", header + "ann,,read,1500000000\n", 2, "bizId must not be empty"},
		{"long subject", "a.csv", header + "ann," + strings.Repeat("x", 129) + ",read,1500000000\n", 2, "at most 128"},
		{"invalid UTF-8", "a.csv", header + "ann,\xff,read,1500000000\n", 2, "valid UTF-8"},
		{"control character", "a.csv", header + "ann,a\x00b,read,1500000000\n", 2, "contains U+0000 (a control character)"},
		{"anonymous like", "a.csv", header + ",1,like,1500000000\n", 2, "anonymous"},
		{"no time", "a.csv", header + "ann,1,read,\n", 2, "not a number of seconds since 1970"},
		{"negative time", "a.csv", header + "ann,1,read,-1500000000\n", 2, `column "time": time "-1500000000" is in the year 1922`},
		{"time with more behind it", "a.csv", header + "ann,1,read,1500000000.123456junk\n", 2, `column "time": time "1500000000.123456junk" is not a number of seconds since 1970`},
		{"subject that is missing", "a.csv", header + "ann,NULL,read,1500000000\n", 2, `column "subject", "NULL": stands for a missing value`},
		{"empty subject of data frames", "a.csv", header + "ann,NA,read,1500000000\n", 2, `column "subject", "NA": stands for a missing value`},
		{"huge time", "a.csv", header + "ann,1,read," + strings.Repeat("9", 90) + "\n", 2, "…"},
		{"no object", "a.ndjson", nd("[1]\n"), 2, "is not a JSON object"},
		{"null", "a.ndjson", nd("null"), 2, "is not a JSON object"},
		{"half an object", "a.ndjson", nd(`{"user":"ann"`), 2, "is not a JSON object"},
		{"missing member", "a.ndjson", nd("\n" + `{"user":"ann","event":"read","time":1500000000}`), 3, `column "subject": bizId must not be empty`},
		{"member that is null", "a.ndjson", nd(`{"user":"ann","subject":null,"event":"read","time":1500000000}`), 2, `column "subject": bizId must not be empty`},
		{"object for a value", "a.ndjson", nd(`{"user":{},"subject":"1","event":"read","time":1}`), 2, `member "user" is {}: it must be a string, a number or a boolean`},
		{"id that is no whole number", "a.ndjson", nd(`{"user":1.5,"subject":"1","event":"read","time":1500000000}`), 2, `member "user" is 1.5: it must be`},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := importFile(t, openStore(t), Options{Mapping: testMapping()}, writeFile(t, c.file, c.text))
			must.Succeed(t, err)
			if result.Bad != 1 || result.BadRows[0].Line != c.line || !strings.Contains(result.BadRows[0].Reason, c.reason) {
				t.Fatalf("got %+v, want line %d: %s", result.BadRows, c.line, c.reason)
			}
		})
	}
}

func TestOnlyTheFirstBadRowsAreListed(t *testing.T) {
	result, err := importText(t, openStore(t), Options{Mapping: testMapping()}, header+strings.Repeat("x\n", 3*maxBadRows))
	must.Succeed(t, err)
	if result.Bad != 3*maxBadRows || len(result.BadRows) != maxBadRows || result.BadRows[maxBadRows-1].Line != maxBadRows+1 {
		t.Fatalf("got %+v, want %d bad rows, the first %d listed", result, 3*maxBadRows, maxBadRows)
	}
}

// endless returns head and then the letter x without end. The field given counts the
// bytes read.
type endless struct {
	head  string
	given int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	e.given += len(p)
	return len(p), nil
}

func TestEndlessRowsAreRefused(t *testing.T) {
	for _, start := range []string{"", header, header + "ann,1,read,1500000000\n\"ann"} {
		text := &endless{head: start}
		src, err := Open(t.Context(), "-", text, "csv")
		must.Succeed(t, err)
		_, err = Import(t.Context(), openStore(t), src, Options{Mapping: testMapping()})
		if !errors.Is(err, errRowTooLong) || text.given > 2*maxRowBytes {
			t.Errorf("got %v after %d bytes, want %v after at most %d", err, text.given, errRowTooLong, 2*maxRowBytes)
		}
	}
}

func TestHugeLineOfNDJSONIsABadRow(t *testing.T) {
	long := `{"user":"` + strings.Repeat("x", 3*maxRowBytes) + "\"}\n"
	result, err := importFile(t, openStore(t), Options{Mapping: testMapping()}, writeFile(t, "a.ndjson", long+asNDJSON+"\n"+long))
	must.Succeed(t, err)
	if result.Rows != 4 || result.Bad != 2 || result.BadRows[0].Line != 1 || result.BadRows[1].Line != 5 {
		t.Fatalf("got %+v, want 4 rows, lines 1 and 5 bad", result)
	}
}

// FuzzRows checks in both formats that reading ends for any input, and that no row begins
// on an earlier line than the row before it.
func FuzzRows(f *testing.F) {
	f.Add(true, plain)
	f.Add(true, "user,subject,event,time\n\"a\n\"\"b\",\xff,,\r\n\"")
	f.Add(false, asNDJSON)
	f.Add(false, `{"user":1e5,"subject":"\ud800","event":null,"time":-0}`)
	f.Fuzz(func(t *testing.T, asCSV bool, text string) {
		format := "ndjson"
		if asCSV {
			format = "csv"
		}
		src, err := Open(t.Context(), "-", strings.NewReader(text), format)
		if err != nil {
			return
		}
		p, err := newParser(src, Options{Mapping: testMapping(), Tenant: "default", block: 1000})
		if err != nil {
			return
		}
		line := 0
		for {
			err := p.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return
			}
			if now := p.rows.place().line; now < line {
				t.Fatalf("line %d follows line %d, want no earlier one", now, line)
			} else {
				line = now
			}
			b, c := p.blocks[actionStream], p.blocks[commentStream]
			if n := len(b.actions); n > 0 {
				a := b.action(int32(n - 1))
				must.Succeed(t, a.Validate())
			}
			if n := len(c.actions); n > 0 {
				_, err := c.comment(int32(n - 1)).Check()
				must.Succeed(t, err)
			}
		}
	})
}
