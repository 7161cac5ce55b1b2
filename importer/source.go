package importer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// Formats returns the supported formats.
func Formats() []string { return []string{"csv", "json", "ndjson"} }

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

// Peek returns up to the first n bytes of the text, without consuming them. A read error is
// not reported here: it recurs when the text is read.
func (s *Source) Peek(n int) []byte {
	head, _ := s.text.Peek(n)
	return head
}

// Read reads the unpacked text, for callers that read a file of another kind than rows.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.text.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = explainDamage(err)
	}
	return n, err
}

// Close closes the file. Standard input stays open.
func (s *Source) Close() error {
	s.stop()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Open opens the file with the given name, or uses stdin if the name is "-". It detects
// gzip, bzip2, zstd and zip by the first bytes. The format is one of those that Formats returns. If it
// is empty, the name's extension decides (.csv, .tsv, .ndjson, .jsonl). If the name has
// none of these extensions, the file is JSON if its text begins with "{" or "[", and
// otherwise CSV. JSON is a document (json) if it begins with a list, with an object of
// several lines, or as the reply of a GraphQL server, and otherwise NDJSON.
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
	if head, _ := s.text.Peek(min(s.text.Buffered(), tarMagicAt+len(tarMagic))); len(head) > tarMagicAt && string(head[tarMagicAt:]) == tarMagic {
		return fmt.Errorf("the file is a tar archive, whose first file is %s: unpack the file you mean on the way (tar -xOf FILE NAME | ovation import -)", quote(string(head[:max(0, bytes.IndexByte(head[:100], 0))])))
	}
	first := s.first()
	if s.beginsWithSQL() {
		return errors.New("the file is an SQL dump: export the table as CSV instead (mysql --batch -e 'SELECT * FROM TABLE' DATABASE > TABLE.tsv, or psql -c '\\copy TABLE to TABLE.csv csv header')")
	}
	if s.format == "" {
		s.format = s.formatOf(name, first)
	}
	if s.format == "ndjson" && first == '[' {
		s.format = "json"
	}
	return nil
}

// beginsWithSQL reports whether the text begins as a dump by mysqldump or pg_dump.
func (s *Source) beginsWithSQL() bool {
	const most = 64
	head, _ := s.text.Peek(min(s.text.Buffered(), most))
	head = bytes.ToUpper(bytes.TrimLeft(head, " \t\r\n-"))
	return slices.ContainsFunc([]string{"MYSQL DUMP", "MARIADB DUMP", "POSTGRESQL DATABASE DUMP", "INSERT INTO ", "CREATE TABLE ", "DROP TABLE ", "/*!"},
		func(start string) bool { return bytes.HasPrefix(head, []byte(start)) })
}

// formatOf detects the format by the file's name, or else by its first line.
func (s *Source) formatOf(name string, first byte) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv":
		return "csv"
	case ".ndjson", ".jsonl":
		return "ndjson"
	}
	switch {
	case first == '{' && isDocument(headerLine(s.text)):
		return "json"
	case first == '{', first == '[': // a list is a document, whatever the name says
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
