package importer

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// packing is a compression that is unpacked.
type packing struct {
	name, magic, suffix string
	open                func(io.Reader) (io.Reader, error)
}

var packings = []packing{
	{"gzip", "\x1f\x8b", ".gz", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"bzip2", "BZh", ".bz2", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{"zstd", "\x28\xb5\x2f\xfd", ".zst", openZstd},
}

// maxZstdWindow bounds the memory for zstd. It is the largest window that the zstd command
// uses without --ultra or --long=28.
const maxZstdWindow = 128 << 20

func openZstd(r io.Reader) (io.Reader, error) {
	z := &zstdReader{packed: recorder{r: r}}
	var err error
	z.text, err = zstd.NewReader(&z.packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
	return z, err
}

// zstdReader unpacks zstd, and marks its errors as damage: most of them have no names.
type zstdReader struct {
	packed recorder
	text   *zstd.Decoder
}

func (z *zstdReader) Read(p []byte) (int, error) {
	n, err := z.text.Read(p)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || z.packed.failed {
		return n, err
	}
	return n, &FileError{true, fmt.Errorf("the file is damaged: %w", err)}
}

// recorder records whether reading has failed.
type recorder struct {
	r      io.Reader
	failed bool
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.failed = r.failed || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// unread holds the first bytes of files that are not read, and what to do with them.
var unread = []struct{ magic, name, advice string }{
	{"\xfd7zXZ\x00", "compressed by xz", "unpack it on the way (xz -dc FILE | ovation import -)"},
	{"\x04\x22\x4d\x18", "compressed by lz4", "unpack it on the way (lz4 -dc FILE | ovation import -)"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it on the way (7z x -so FILE NAME | ovation import -)"},
	{"Rar!\x1a\x07", "a rar archive", "unpack it on the way (unrar p -inul FILE NAME | ovation import -)"},
	{"PAR1", "a Parquet file", "convert it to CSV (duckdb -csv -c \"FROM 'FILE'\" | ovation import -)"},
}

// Each tar archive contains tarMagic at tarMagicAt.
const (
	tarMagic   = "ustar"
	tarMagicAt = 257
)

// unpack detects the compression and the format, and opens the unpacked text.
func (s *Source) unpack(ctx context.Context, name string, raw io.Reader) error {
	const buffer = 64 << 10
	counted := &interruptible{ctx: ctx, r: raw, read: &s.read, buffer: make([]byte, buffer), done: make(chan readResult, 1)}
	packed := bufio.NewReaderSize(counted, buffer)
	if _, err := packed.Peek(4); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read: %w", err)
	}
	magic, err := packed.Peek(min(8, packed.Buffered())) // no more than is there
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	for _, not := range unread {
		if bytes.HasPrefix(magic, []byte(not.magic)) {
			return fmt.Errorf("the file is %s, which is not supported: %s", not.name, not.advice)
		}
	}
	stream := s.size == 0 // a stream cannot be read twice
	var text io.Reader = packed
	for _, p := range packings {
		if !bytes.HasPrefix(magic, []byte(p.magic)) {
			continue
		}
		if !stream {
			if err := s.try(p, packed); err != nil {
				return err
			}
			if _, err := s.file.Seek(0, io.SeekStart); err != nil {
				return fmt.Errorf("read: %w", err)
			}
			packed.Reset(counted)
			s.read.Store(0)
		}
		if text, err = s.unpacked(p, packed); err != nil {
			return err
		}
		name = strings.TrimSuffix(strings.ToLower(name), p.suffix)
	}
	if bytes.HasPrefix(magic, []byte("PK\x03\x04")) || bytes.HasPrefix(magic, []byte("PK\x05\x06")) {
		if stream {
			return errors.New("a zip file cannot be read from standard input or a pipe: name the file, or unpack it on the way (unzip -p FILE.zip | ovation import -)")
		}
		if name, text, err = s.openZip(&countingReaderAt{ctx, s.file, &s.read}); err != nil {
			return err
		}
	}
	s.text = bufio.NewReaderSize(text, buffer)
	return s.sniff(name)
}

// unpacked opens the text of a packed file.
func (s *Source) unpacked(p packing, packed io.Reader) (io.Reader, error) {
	text, err := p.open(packed)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", p.name, explainDamage(err))
	}
	return &expansion{r: text, of: s}, nil
}

// try unpacks the file to its end, where the checksum is verified.
func (s *Source) try(p packing, packed io.Reader) error {
	text, err := s.unpacked(p, packed)
	if err != nil {
		return err
	}
	if _, err = io.Copy(io.Discard, text); err != nil {
		return fmt.Errorf("unpack %s: %w", p.name, explainDamage(err))
	}
	return nil
}

// A file may be unpacked to maxExpansion times its size and slack bytes. Gzip reaches a
// factor of 1,032 at most, and logs about 20; others could grow without end.
const (
	maxExpansion   = 1100
	expansionSlack = 64 << 20
)

// expansion bounds the size of the text of a packed file.
type expansion struct {
	r   io.Reader
	of  *Source
	out int64
}

func (e *expansion) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.out += int64(n)
	if size := max(e.of.size, e.of.read.Load()); e.out > expansionSlack+maxExpansion*size {
		return 0, &FileError{true, fmt.Errorf("the file grows to more than %d times its size, as no log does", maxExpansion)}
	}
	return n, err
}

// openZip opens the only file in a zip archive. It returns the file's name and contents.
func (s *Source) openZip(r io.ReaderAt) (string, io.Reader, error) {
	archive, err := zip.NewReader(r, s.size)
	if err != nil {
		return "", nil, fmt.Errorf("unpack zip: its directory cannot be read: %w", explainDamage(err))
	}
	var found []*zip.File
	var names []string
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") && !isBookkeeping(f.Name) {
			found, names = append(found, f), append(names, f.Name)
		}
	}
	switch len(found) {
	case 0:
		return "", nil, errors.New("unpack zip: it holds no file")
	case 1:
	default:
		return "", nil, fmt.Errorf("unpack zip: it holds %d files where one is expected, %s: unpack the one you mean (unzip -p FILE.zip NAME | ovation import -)", len(found), list(names))
	}
	const encrypted = 1
	if found[0].Flags&encrypted != 0 {
		return "", nil, errors.New("unpack zip: it is encrypted: unpack it first")
	}
	// The file is opened twice: once to verify the checksum, and once to use it.
	p := packing{name: "zip", open: func(io.Reader) (io.Reader, error) { return found[0].Open() }}
	if err := s.try(p, nil); err != nil {
		return "", nil, err
	}
	text, err := s.unpacked(p, nil)
	return found[0].Name, text, err
}

// isBookkeeping reports whether a file of an archive was added by a file manager: macOS
// adds __MACOSX, .DS_Store and files that begin with "._", Windows adds Thumbs.db.
func isBookkeeping(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "__MACOSX/") || strings.Contains(name, "/__MACOSX/") ||
		strings.HasPrefix(base, "._") || base == ".DS_Store" || base == "Thumbs.db" || base == "desktop.ini"
}

// FileError is a defect of the file itself: reading it again returns the same error.
type FileError struct {
	// Packed is true if the error occurred while unpacking. Damage is detected late, so
	// rows that were read shortly before the error may be wrong.
	Packed bool
	Err    error
}

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// explainDamage returns a *FileError if err shows a defect of a packed file, and
// otherwise err itself.
func explainDamage(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	_, corruptBlock := errors.AsType[bzip2.StructuralError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, zip.ErrFormat):
		return &FileError{true, errors.New("the file is cut off or damaged")}
	case corrupt, corruptBlock, errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zip.ErrChecksum):
		return &FileError{true, fmt.Errorf("the file is damaged: %w", err)}
	}
	return err
}
