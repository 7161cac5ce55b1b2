package importer

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync/atomic"
)

// Formats returns the supported formats.
func Formats() []string { return []string{"csv", "ndjson"} }

// Source is an open file of rows. The caller of Open must close it.
type Source struct {
	text   *bufio.Reader // unpacked text
	format string
	size   int64
	read   atomic.Int64 // bytes of the packed file read so far
	file   *os.File     // nil for standard input
	stop   context.CancelFunc
}

// Size returns the size of the file in bytes, or 0 if it is unknown. For a packed file,
// this is the packed size.
func (s *Source) Size() int64 { return s.size }

// Close closes the file. Standard input stays open.
func (s *Source) Close() error {
	s.stop()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Open opens the file with the given name, or uses stdin if the name is "-". It detects
// gzip and zip by the first bytes. The format is one of those that Formats returns. If it
// is empty, the name's extension decides (.csv, .tsv, .ndjson, .jsonl). If the name has
// none of these extensions, the file is NDJSON if its text begins with "{", and otherwise
// CSV. A JSON array is rejected.
//
// A packed file is unpacked once to its end before Open returns, and is rejected with a
// *FileError if it is truncated or damaged. In a stream, such as standard input, damage
// is detected only when the stream is read.
//
// When ctx ends, all reads fail with its error, including a read that is blocked. A
// blocked read of stdin is abandoned: it ends when more bytes arrive, or with the
// process.
func Open(ctx context.Context, name string, stdin io.Reader, format string) (*Source, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &Source{format: format, stop: stop}
	if err := s.open(ctx, name, stdin); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Source) open(ctx context.Context, name string, raw io.Reader) error {
	if name == "-" {
		return s.unpack(ctx, name, raw)
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	s.file = file
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if info.IsDir() {
		return fmt.Errorf("open: %s is a folder; name a file in it", name)
	}
	if info.Mode().IsRegular() {
		s.size = info.Size()
	}
	return s.unpack(ctx, name, file)
}

// unpack detects gzip, zip and the format, and opens the unpacked text.
func (s *Source) unpack(ctx context.Context, name string, raw io.Reader) error {
	const buffer = 64 << 10
	counted := &interruptible{ctx: ctx, r: raw, read: &s.read, buffer: make([]byte, buffer), done: make(chan readResult, 1)}
	packed := bufio.NewReaderSize(counted, buffer)
	magic, err := packed.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read: %w", err)
	}
	stream := s.size == 0 // a stream cannot be read twice
	var text io.Reader = packed
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		if !stream {
			if err := tryGzip(packed); err != nil {
				return err
			}
			if _, err := s.file.Seek(0, io.SeekStart); err != nil {
				return fmt.Errorf("read: %w", err)
			}
			packed.Reset(counted)
			s.read.Store(0)
		}
		if text, err = gzip.NewReader(packed); err != nil {
			return fmt.Errorf("unpack gzip: %w", explainDamage(err))
		}
		name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")), bytes.HasPrefix(magic, []byte("PK\x05\x06")):
		if stream {
			return errors.New("a zip file cannot be read from standard input or a pipe: name the file, or unpack it on the way (unzip -p FILE.zip | ovation import -)")
		}
		if name, text, err = openZip(&countingReaderAt{ctx, s.file, &s.read}, s.size); err != nil {
			return err
		}
	}
	s.text = bufio.NewReaderSize(text, buffer)
	return s.sniff(name)
}

// tryGzip unpacks the file to its end, where the checksum is verified.
func tryGzip(packed io.Reader) error {
	text, err := gzip.NewReader(packed)
	if err == nil {
		_, err = io.Copy(io.Discard, text) //nolint:gosec // the output is discarded, however large it is
	}
	if err != nil {
		return fmt.Errorf("unpack gzip: %w", explainDamage(err))
	}
	return nil
}

// sniff skips a byte order mark and detects the format if no format is set.
func (s *Source) sniff(name string) error {
	head, err := s.text.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read: %w", explainDamage(err))
	}
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return errors.New("the file is written in UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)")
	}
	if bytes.Equal(head, []byte("\ufeff")) {
		_, _ = s.text.Discard(len(head)) // the bytes are in the buffer
	}
	first := s.first()
	if s.format == "" {
		s.format = formatOf(name, first)
	}
	if s.format == "ndjson" && first == '[' {
		return errors.New("the file is a JSON array: one object a line is expected (jq -c '.[]' FILE | ovation import - makes that)")
	}
	return nil
}

// formatOf detects the format by the file's name, or else by its first byte.
func formatOf(name string, first byte) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv":
		return "csv"
	case ".ndjson", ".jsonl":
		return "ndjson"
	}
	if first == '{' || first == '[' {
		return "ndjson"
	}
	return "csv"
}

// first returns the first byte that is not white space, without consuming it, or 0 if
// there is none within the buffer. A read error is not reported here: it recurs when
// rows are read.
func (s *Source) first() byte {
	for n := 1; ; n++ {
		head, err := s.text.Peek(n)
		if err != nil {
			return 0
		}
		if c := head[n-1]; !strings.ContainsRune(" \t\r\n", rune(c)) {
			return c
		}
	}
}

// openZip opens the only file in a zip archive. It returns the file's name and contents.
func openZip(r io.ReaderAt, size int64) (string, io.Reader, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return "", nil, fmt.Errorf("unpack zip: its directory cannot be read: %w", explainDamage(err))
	}
	var found []*zip.File
	for _, f := range archive.File {
		// macOS adds files of its own to archives.
		if !strings.HasSuffix(f.Name, "/") && !strings.HasPrefix(f.Name, "__MACOSX/") {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return "", nil, fmt.Errorf("unpack zip: it holds %d files where one is expected: unpack the one you mean (unzip -p FILE.zip NAME | ovation import -)", len(found))
	}
	const encrypted = 1
	if found[0].Flags&encrypted != 0 {
		return "", nil, errors.New("unpack zip: it is encrypted: unpack it first")
	}
	// The file is opened twice: once to verify the checksum, and once to use it.
	text, err := found[0].Open()
	if err == nil {
		_, err = io.Copy(io.Discard, text)
	}
	if err == nil {
		text, err = found[0].Open()
	}
	if err != nil {
		return "", nil, fmt.Errorf("unpack zip: %w", explainDamage(err))
	}
	return found[0].Name, text, nil
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
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, zip.ErrFormat):
		return &FileError{true, errors.New("the file is cut off or damaged")}
	case corrupt, errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zip.ErrChecksum):
		return &FileError{true, fmt.Errorf("the file is damaged: %w", err)}
	}
	return err
}

// interruptible counts the bytes read, and abandons a blocked read when the context ends.
type interruptible struct {
	ctx    context.Context
	r      io.Reader
	read   *atomic.Int64
	buffer []byte // used by the latest read, even after that read was abandoned
	done   chan readResult
}

type readResult struct {
	n   int
	err error
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	buffer := i.buffer[:min(len(p), len(i.buffer))]
	go func() {
		n, err := i.r.Read(buffer)
		i.done <- readResult{n, err}
	}()
	select {
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	case r := <-i.done:
		i.read.Add(int64(r.n))
		return copy(p, buffer[:r.n]), r.err
	}
}

// countingReaderAt records the position up to which it has been read. It fails once ctx
// has ended.
type countingReaderAt struct {
	ctx context.Context
	r   io.ReaderAt
	n   *atomic.Int64
}

func (c *countingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.ReadAt(p, off)
	c.n.Store(off + int64(n))
	return n, err
}
