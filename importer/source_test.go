package importer

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ovation/internal/testing/must"
)

const plain = header + "ann,1,read,1500000000\nann,2,read,1500000000\n"

const asNDJSON = `{"user":"ann","subject":1,"event":"read","time":1500000000}` + "\r\n\n" +
	`{"time":"1500000000","subject":"2","event":"read","user":"ann","more":{"a":[1]}}`

// bzipped is the text of plain, packed by the bzip2 command.
const bzipped = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x54\x85\x38\x77\x00\x00\x1e\x59\x80\x04\x10\x00\x04\x72\x00\x3e\x33\x1f\x00\x20\x00\x54\x50\x34\xd0\xc8\xc9\x88\x25\x51\x91\xa6\x6d\x53\x06\xa7\xa9\x31\x48\xcf\xa7\x2f\x5b\x6e\x75\x38\x42\x0a\x0c\x23\xe9\x5c\x76\x1e\x21\xae\xf1\xb1\x84\x50\x3a\x40\x57\x5d\xc7\xc5\xdc\x91\x4e\x14\x24\x15\x21\x4e\x1d\xc0"

// zstandard packs a text.
func zstandard(t *testing.T, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	must.Succeed(t, err)
	packed := w.EncodeAll([]byte(text), nil)
	must.Succeed(t, w.Close())
	return string(packed)
}

// gzipped packs the parts of one text so that each part can be unpacked even if the parts
// after it are cut off.
func gzipped(t *testing.T, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for _, part := range parts {
		_, err := w.Write([]byte(part))
		must.Succeed(t, err)
		must.Succeed(t, w.Flush())
	}
	must.Succeed(t, w.Close())
	return b.String()
}

// zipped returns a zip archive. In files, each name is followed by the contents.
func zipped(t *testing.T, files ...string) string {
	t.Helper()
	return zippedBy(t, zip.Deflate, files...)
}

func zippedBy(t *testing.T, method uint16, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: files[i], Method: method})
		must.Succeed(t, err)
		_, err = f.Write([]byte(files[i+1]))
		must.Succeed(t, err)
	}
	must.Succeed(t, w.Close())
	return b.String()
}

// TestFormsOfOneFileAreOne imports the same rows in every form into one store. Only the
// first import adds rows.
func TestFormsOfOneFileAreOne(t *testing.T) {
	store := openStore(t)
	for i, form := range []struct{ name, file, text string }{
		{"CSV", "a.csv", plain},
		{"CRLF", "a.csv", strings.ReplaceAll(plain, "\n", "\r\n")},
		{"byte order mark", "a.csv", "\ufeff" + plain},
		{"no ending", "a", plain},
		{"no line break at the end", "a.csv", strings.TrimSuffix(plain, "\n")},
		{"other order and quotes", "a.csv", "time,\"x\ny\",event,subject,user\n1500000000,\"a\nb\",read,\"1\",ann\n1500000000,,read,2,ann\n"},
		{"bad and skipped rows between", "a.csv", header + "ann,1,read,1500000000\nann\nann,2,stare,1500000000\nann,2,read,1500000000\n"},
		{"gzip", "a.csv.gz", gzipped(t, plain)},
		{"gzip of another name", "a.bin", gzipped(t, plain)},
		{"two gzips in a row", "a.csv.gz", gzipped(t, plain[:40]) + gzipped(t, plain[40:])},
		{"bzip2", "a.csv.bz2", bzipped},
		{"bzip2 of another name", "a", bzipped},
		{"zstd", "a.csv.zst", zstandard(t, plain)},
		{"two zstd frames in a row", "a.csv.zst", zstandard(t, plain[:40]) + zstandard(t, plain[40:])},
		{"NDJSON in zstd", "a.jsonl.zst", zstandard(t, asNDJSON)},
		{"zip with files of file managers", "a.zip", zipped(t, "a/a.csv", plain, "a/__MACOSX/._a.csv", "x", "a/.DS_Store", "x", "._a", "x", "Thumbs.db", "x")},
		{"zip", "a.zip", zipped(t, "folder/", "", "folder/a.csv", plain, "__MACOSX/a.csv", "x")},
		{"NDJSON", "a.ndjson", asNDJSON},
		{"JSON lines", "a.jsonl", "\ufeff" + asNDJSON},
		{"NDJSON with no ending", "a", asNDJSON},
		{"NDJSON in gzip", "a.NDJSON.gz", gzipped(t, asNDJSON)},
		{"NDJSON in zip", "a.zip", zipped(t, "a.ndjson", asNDJSON)},
	} {
		t.Run(form.name, func(t *testing.T) {
			result, err := importFile(t, store, Options{Mapping: testMapping()}, writeFile(t, form.file, form.text))
			must.Succeed(t, err)
			if i > 0 && (result.Already != 2 || len(result.Imported) > 0) {
				t.Errorf("got %+v, want 2 rows already there, none imported", result)
			}
		})
	}
	if got := readsOf(t, store, "default"); got != 2 {
		t.Errorf("there are %d reads, want 2", got)
	}
}

func TestStandardInput(t *testing.T) {
	store := openStore(t)
	for name, text := range map[string]string{"plain": plain, "gzip": gzipped(t, plain), "NDJSON": asNDJSON} {
		src, err := Open(t.Context(), "-", strings.NewReader(text), "")
		must.Succeed(t, err)
		_, err = Import(t.Context(), store, src, Options{Mapping: testMapping()})
		must.Succeed(t, err)
		must.Succeed(t, src.Close())
		if got := readsOf(t, store, "default"); got != 2 {
			t.Errorf("%s: there are %d reads, want 2", name, got)
		}
	}
}

// TestUnreadableFilesSayWhereAndWhy also checks that the rows before the error are
// imported.
func TestUnreadableFilesSayWhereAndWhy(t *testing.T) {
	long := header + strings.Repeat("ann,1,read,1500000000\n", 100_000)
	cut := gzipped(t, header+"ann,1,read,1500000000\nann,2", ",read,1500000000\n")
	damaged := []byte(gzipped(t, plain))
	binary.LittleEndian.PutUint32(damaged[len(damaged)-8:], 1)
	stored := zippedBy(t, zip.Store, "a.csv", plain)
	packed := zstandard(t, plain)
	encrypted := []byte(zipped(t, "a.csv", plain))
	encrypted[bytes.Index(encrypted, []byte("PK\x01\x02"))+8] |= 1
	for _, c := range []struct {
		name, file, text, want string
		reads                  int64
	}{
		{"empty", "a.csv", "", "the file is empty", 0},
		{"empty gzip", "a.csv.gz", gzipped(t, ""), "the file is empty", 0},
		{"gzip cut in its header", "a.csv.gz", gzipped(t, long)[:8], "cut off", 0},
		{"gzip cut off", "a.csv.gz", cut[:len(cut)-20], "unpack gzip: the file is cut off", 0},
		{"gzip damaged", "a.csv.gz", string(damaged), "unpack gzip: the file is damaged: gzip: invalid checksum", 0},
		{"gzip with more behind it", "a.csv.gz", gzipped(t, plain) + "more of it", "unpack gzip: the file is damaged: gzip: invalid header", 0},
		{"zip cut off", "a.zip", zipped(t, "a.csv", plain)[:60], "directory cannot be read: the file is cut off", 0},
		{"zip damaged", "a.zip", strings.Replace(stored, "ann,2", "bob,2", 1), "unpack zip: the file is damaged: zip: checksum", 0},
		{"zip of two files", "a.zip", zipped(t, "a.csv", plain, "b.csv", plain), "holds 2 files", 0},
		{"zip of two files, named", "a.zip", zipped(t, "a.csv", plain, "x/b.csv", plain), `"a.csv", "x/b.csv": unpack the one you mean (unzip -p`, 0},
		{"bzip2 cut off", "a.bz2", bzipped[:len(bzipped)-9], "unpack bzip2: the file is cut off", 0},
		{"bzip2 damaged", "a.bz2", bzipped[:30] + "\xff\xff" + bzipped[32:], "unpack bzip2: the file is damaged: bzip2", 0},
		{"zstd cut off", "a.zst", packed[:len(packed)-6], "unpack zstd: the file is cut off", 0},
		{"zstd damaged", "a.zst", packed[:20] + "\xff" + packed[21:], "unpack zstd: the file is damaged", 0},
		{"zstd that grows without end", "a.zst", zstandard(t, plain+strings.Repeat("\n", expansionSlack+expansionSlack/2)), "the file grows to more than 1100 times its size", 0},
		{"xz", "a.csv.xz", "\xfd7zXZ\x00\x00\x04", "the file is compressed by xz, which is not supported: unpack it on the way (xz -dc FILE | ovation import -)", 0},
		{"lz4", "a.csv.lz4", "\x04\x22\x4d\x18\x64\x40", "compressed by lz4", 0},
		{"7z", "a.7z", "7z\xbc\xaf\x27\x1c\x00\x04", "a 7z archive", 0},
		{"Parquet", "a.parquet", "PAR1\x15\x04\x15\x20", "a Parquet file, which is not supported: convert it to CSV", 0},
		{"tar in gzip", "a.tar.gz", gzipped(t, "a/log.csv"+strings.Repeat("\x00", 248)+"ustar\x0000"+plain), `the file is a tar archive, whose first file is "a/log.csv": unpack the file you mean on the way (tar -xOf FILE NAME | ovation import -)`, 0},
		{"zip of nothing", "a.zip", zipped(t), "holds no file", 0},
		{"encrypted zip", "a.zip", string(encrypted), "is encrypted", 0},
		{"UTF-16", "a.csv", "\xff\xfeu\x00", "UTF-16", 0},
		{"no such column", "a.csv", "user,subject,time\n", `no column "event"; it has "user", "subject", "time"`, 0},
		{"column twice", "a.csv", "user,subject,event,time,time\n", `"time" twice`, 0},
		{"quote not closed", "a.csv", plain + "ann,1,\"read,1500000000\n", "line 4: the quotes of the last row do not match", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := openStore(t)
			_, err := importFile(t, store, Options{Mapping: testMapping()}, writeFile(t, c.file, c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			if got := readsOf(t, store, "default"); got != c.reads {
				t.Errorf("%d reads are imported, want %d", got, c.reads)
			}
		})
	}
}

// TestDamagedStreamIsReportedWithItsPosition imports from a source that can be read only
// once.
func TestDamagedStreamIsReportedWithItsPosition(t *testing.T) {
	cut := gzipped(t, header+"ann,1,read,1500000000\nann,2", ",read,1500000000\n")
	damaged := []byte(gzipped(t, plain))
	damaged[len(damaged)-8] ^= 1 // a byte of the checksum
	for _, c := range []struct {
		name, text, want string
		packed           bool
	}{
		{"cut gzip", cut[:len(cut)-20], "after line 2: the file is cut off", true},
		{"damaged gzip", string(damaged), "after line 3: the file is damaged: gzip: invalid checksum", true},
		{"open quote", plain + "ann,\"1", "line 4: the quotes of the last row", false},
		{"endless row", plain + strings.Repeat("x", 2*maxRowBytes), "after line 3: a row is longer than", false},
	} {
		src, err := Open(t.Context(), "-", strings.NewReader(c.text), "csv")
		must.Succeed(t, err)
		_, err = Import(t.Context(), openStore(t), src, Options{Mapping: testMapping()})
		fault, is := errors.AsType[*FileError](err)
		if !is || fault.Packed != c.packed || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %#v: %v, want %q, packed: %v", c.name, fault, err, c.want, c.packed)
		}
		must.Succeed(t, src.Close())
	}
}

// TestWaitingForAStreamEndsWithTheContext cancels the context before the first byte
// arrives, and between two rows.
func TestWaitingForAStreamEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	defer w.Close()
	go cancel()
	if _, err := Open(ctx, "-", r, ""); !errors.Is(err, context.Canceled) {
		t.Fatalf("Open that waits for the first byte = %v, want %v", err, context.Canceled)
	}

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	src, err := Open(t.Context(), "-", io.MultiReader(strings.NewReader(plain), notifyingReader{cancel, r}), "")
	must.Succeed(t, err)
	if _, err = Import(ctx, openStore(t), src, Options{Mapping: testMapping()}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Import that waits for more rows = %v, want %v", err, context.Canceled)
	}
	must.Succeed(t, src.Close())
}

// notifyingReader calls the function tell whenever a read begins.
type notifyingReader struct {
	tell func()
	more io.Reader
}

func (w notifyingReader) Read(p []byte) (int, error) {
	w.tell()
	return w.more.Read(p)
}

// TestFailingStoreDoesNotWaitForTheStream imports into a store that fails while the
// reader waits for more rows.
func TestFailingStoreDoesNotWaitForTheStream(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	const block = 1000
	enough := header + strings.Repeat("ann,1,read,1500000000\n", block)
	src, err := Open(t.Context(), "-", io.MultiReader(strings.NewReader(enough), r), "")
	must.Succeed(t, err)
	_, err = Import(t.Context(), &killed{Store: openStore(t)}, src, Options{Mapping: testMapping(), block: block})
	if !errors.Is(err, errKilled) {
		t.Fatalf("got %v, want %v of the store", err, errKilled)
	}
	must.Succeed(t, src.Close())
}

func TestBlankLinesOfNDJSONAreCounted(t *testing.T) {
	const object = `{"user":"ann","subject":1,"event":"read","time":1500000000}`
	result, err := importFile(t, openStore(t), Options{Mapping: testMapping()}, writeFile(t, "a", "\r\n\n"+object+"\n{\"event\":\"read\"}"))
	must.Succeed(t, err)
	if result.Rows != 2 || result.Bad != 1 || result.BadRows[0].Line != 4 {
		t.Errorf("NDJSON after blank lines: got %+v, want 2 rows, of which line 4 is bad", result)
	}
}

func TestInvalidSourcesAreErrors(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct{ name, path, want string }{
		{"missing", filepath.Join(folder, "missing.csv"), "no such file"},
		{"folder", folder, "is a folder"},
	} {
		if _, err := Open(t.Context(), c.path, nil, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Open(t.Context(), "-", strings.NewReader(zipped(t, "a.csv", plain)), ""); err == nil || !strings.Contains(err.Error(), "standard input") {
		t.Errorf("zip on standard input: got %v, want an error that names standard input", err)
	}
}

func TestSizeAndPositionAreOfThePackedFile(t *testing.T) {
	text := header + strings.Repeat("ann,1,read,1500000000\n", 2000)
	for _, packed := range []string{text, gzipped(t, text), zipped(t, "a.csv", text)} {
		path := writeFile(t, "a.csv", packed)
		info, err := os.Stat(path)
		must.Succeed(t, err)
		src, err := Open(t.Context(), path, nil, "csv")
		must.Succeed(t, err)
		var last Progress
		_, err = Import(t.Context(), openStore(t), src, Options{Mapping: testMapping(), Progress: func(p Progress) { last = p }})
		must.Succeed(t, err)
		must.Succeed(t, src.Close())
		if src.Size() != info.Size() || last.Bytes > info.Size() || last.Bytes < info.Size()/2 || last.Rows != 2000 {
			t.Errorf("got size %d and, at the end, %+v, want size %d, at least half of it read, 2000 rows", src.Size(), last, info.Size())
		}
	}
}
