package importer

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync/atomic"
)

// Formats returns what a file can be written in.
func Formats() []string { return []string{"csv", "ndjson"} }

// Source is an opened file of rows. Whoever opened it closes it.
type Source struct {
	text   *bufio.Reader // unpacked
	format string
	size   int64
	read   atomic.Int64 // bytes of the packed file
	file   *os.File     // nil for standard input
}

// Size is that of the file as it lies there, in bytes; 0 where it is not
// known.
func (s *Source) Size() int64 { return s.size }

// Close closes the file. Standard input stays open.
func (s *Source) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Open opens a file, or stdin where the name is "-". Whether it is packed by
// gzip or zip is seen from its first bytes. format is one of Formats; where it
// is empty, the ending of the name decides (.csv, .ndjson, .jsonl), or else
// the first byte: "{" begins NDJSON.
func Open(name string, stdin io.Reader, format string) (*Source, error) {
	s := &Source{format: format}
	raw := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("open: %w", err)
		}
		s.file, raw = file, file
		info, err := file.Stat()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open: %w", err), file.Close())
		}
		s.size = info.Size()
		if info.IsDir() {
			return nil, errors.Join(fmt.Errorf("open: %s is a folder; name a file in it", name), file.Close())
		}
	}
	if err := s.unpack(name, raw); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// unpack sees through gzip and zip, and finds the format.
func (s *Source) unpack(name string, raw io.Reader) error {
	const buffer = 64 << 10
	packed := bufio.NewReaderSize(&countingReader{raw, &s.read}, buffer)
	magic, err := packed.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read: %w", err)
	}
	var text io.Reader = packed
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		if text, err = gzip.NewReader(packed); err != nil {
			return fmt.Errorf("unpack gzip: %w", named(err))
		}
		name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")), bytes.HasPrefix(magic, []byte("PK\x05\x06")):
		if s.file == nil {
			return errors.New("a zip file cannot be read from standard input: name the file, or unpack it on the way (unzip -p FILE.zip | ovation import -)")
		}
		if name, text, err = openZip(&countingReaderAt{s.file, &s.read}, s.size); err != nil {
			return err
		}
	}
	s.text = bufio.NewReaderSize(text, buffer)
	return s.sniff(name)
}

// sniff skips a byte order mark and finds the format where none is set.
func (s *Source) sniff(name string) error {
	head, err := s.text.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read: %w", named(err))
	}
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return errors.New("the file is written in UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)")
	}
	if bytes.Equal(head, []byte("\ufeff")) {
		_, _ = s.text.Discard(len(head)) // they are in the buffer
		head, _ = s.text.Peek(1)         // an error comes again when rows are read
	}
	if s.format != "" {
		return nil
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		s.format = "csv"
	case ".ndjson", ".jsonl":
		s.format = "ndjson"
	default:
		s.format = "csv"
		if bytes.HasPrefix(head, []byte("{")) {
			s.format = "ndjson"
		}
	}
	return nil
}

// openZip opens the only file in a zip file and returns its name too.
func openZip(r io.ReaderAt, size int64) (string, io.Reader, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return "", nil, fmt.Errorf("unpack zip: its directory cannot be read, it is cut off or damaged: %w", err)
	}
	var found []*zip.File
	for _, f := range archive.File {
		// macOS adds files of its own.
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
	text, err := found[0].Open()
	if err != nil {
		return "", nil, fmt.Errorf("unpack zip: %w", err)
	}
	return found[0].Name, text, nil
}

// named says in plain words what the readers of packed files mean.
func named(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("the file is cut off: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// countingReader counts what is read.
type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// countingReaderAt notes how far it was read.
type countingReaderAt struct {
	r io.ReaderAt
	n *atomic.Int64
}

func (c *countingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n.Store(off + int64(n))
	return n, err
}
