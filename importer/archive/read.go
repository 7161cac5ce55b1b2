package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"time"

	"ovation/storage"
)

// maxLine is the maximum length of a line, in bytes. The longest one that Export writes is
// that of a comment: 2,000 characters, each escaped as 12 bytes.
const maxLine = 64 << 10

// HeaderSize is how many bytes of a file Is needs at most.
const HeaderSize = 64

// Is reports whether a file that begins with these bytes is one that Export wrote. Such a
// file may nevertheless be invalid.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"format":"`+formatName+`"`)) }

// reader reads a file and checks it.
type reader struct {
	text     *bufio.Reader
	tenant   string
	accounts Accounts
	progress func(lines, bytes int64)

	header  header
	trailer trailer
	sum     hash.Hash
	lines   map[string]int64
	at      int64 // the line that was read last, counted from 1
	bytes   int64
}

func newReader(file io.Reader, o ImportOptions) *reader {
	r := &reader{tenant: o.Tenant, accounts: o.Accounts, progress: o.Progress, sum: sha256.New(), lines: map[string]int64{}}
	r.reset(file)
	return r
}

func (r *reader) reset(file io.Reader) { r.text = bufio.NewReaderSize(file, maxLine) }

func (r *reader) result(start time.Time) Result {
	out := Result{User: r.header.User, Lines: countsOf(r.lines), Elapsed: time.Since(start)}
	for _, n := range out.Lines {
		out.Total += n.Lines
	}
	return out
}

func (r *reader) fail(format string, args ...any) error {
	return &FileError{r.at, fmt.Sprintf(format, args...)}
}

// errTruncated is the reason for a file that ends early.
const errTruncated = "is the last one, and the line that ends an export is missing: the file is truncated"

// readAll reads the whole file and calls each with one Archive after another, each with
// elements of one field.
func (r *reader) readAll(ctx context.Context, each func(*storage.Archive) error) error {
	if err := r.readHeader(); err != nil {
		return err
	}
	part, field := new(storage.Archive), ""
	flush := func() error {
		if part.Len() == 0 {
			return nil
		}
		full := part
		part = new(storage.Archive)
		if err := each(full); err != nil {
			return err
		}
		if r.progress != nil {
			r.progress(r.at-1, r.bytes)
		}
		return ctx.Err()
	}
	for {
		text, err := r.next()
		if err != nil {
			return err
		}
		l, err := r.parse(text)
		switch {
		case err != nil:
			return err
		case l.Type == typeEnd:
			return errors.Join(flush(), r.finish(text))
		}
		if of := fieldOf(l.Type); of != field || part.Len() >= sizeOf(of) {
			if err := flush(); err != nil {
				return err
			}
			field = of
		}
		if err := r.addChecked(part, l); err != nil {
			return err
		}
	}
}

// fieldOf returns the type of the elements that are restored together with those of a type.
func fieldOf(name string) string {
	switch name {
	case typeLike, typeDislike, typeClear, typeUnlike, typeUndislike, typeCollect, typeUncollect, typeFollow, typeUnfollow:
		return typeLike
	}
	return name
}

func sizeOf(field string) int {
	if field == typeLike || field == typeRead {
		return restoreActions
	}
	return restoreOthers
}

// addChecked adds the element of a line to the archive if the element is valid.
func (r *reader) addChecked(part *storage.Archive, l *line) error {
	var one storage.Archive
	err := r.add(&one, l)
	if err == nil {
		err = one.Validate()
	}
	if _, invalid := errors.AsType[*storage.InvalidError](err); invalid {
		return r.fail("is invalid: %v", err)
	}
	if err != nil {
		return r.fail("%v", err)
	}
	r.lines[l.Type]++
	return r.add(part, l)
}

// next returns the next line, without its end. The text is valid until the next call.
func (r *reader) next() ([]byte, error) {
	text, err := r.text.ReadSlice('\n')
	r.bytes += int64(len(text))
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		r.at++
		return nil, r.fail("is longer than %d bytes, which no line of an export is", maxLine)
	case errors.Is(err, io.EOF) && len(text) == 0:
		return nil, r.fail("%s", errTruncated)
	case errors.Is(err, io.EOF):
		r.at++
		return nil, r.fail("%s", errTruncated)
	case err != nil:
		return nil, fmt.Errorf("after line %d: read: %w", r.at, err)
	}
	r.at++
	return text, nil
}

func (r *reader) readHeader() error {
	text, err := r.next()
	if err != nil {
		return err
	}
	var probe struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &probe); err == nil && probe.Version > formatVersion {
		return r.fail("names version %d of the format, and this release reads up to version %d: use a newer release", probe.Version, formatVersion)
	}
	if err := strict(text, &r.header); err != nil || r.header.Format != formatName || r.header.Version < 1 {
		return r.fail("is not the header of an export")
	}
	switch err := storage.ValidateTenant(r.header.Tenant); {
	case err != nil:
		return r.fail("is invalid: %v", err)
	case r.header.Tenant != r.tenant:
		return r.fail("names the tenant %s, not %s: choose --tenant %s to import the file", r.header.Tenant, r.tenant, r.header.Tenant)
	}
	_, _ = r.sum.Write(text) // never fails
	return nil
}

// parse parses a line, and adds it to the checksum unless it is the trailer.
func (r *reader) parse(text []byte) (*line, error) {
	if bytes.HasPrefix(text, []byte(`{"type":"`+typeEnd+`"`)) {
		return &line{Type: typeEnd}, nil
	}
	_, _ = r.sum.Write(text) // never fails
	l := new(line)
	if err := strict(text, l); err != nil {
		return nil, r.fail("is not a line of an export: %v", err)
	}
	if l.Type == typeEnd {
		return nil, r.fail("ends the export, and is not as an export writes it")
	}
	return l, nil
}

// strict decodes one object without unknown members.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(text[d.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("%s follows the object", clip(string(rest)))
	}
	return nil
}

// finish checks the trailer, which the given line is, and that the file ends with it.
func (r *reader) finish(text []byte) error {
	if err := strict(text, &r.trailer); err != nil {
		return r.fail("ends the export, and cannot be read: %v", err)
	}
	if sum := hex.EncodeToString(r.sum.Sum(nil)); sum != r.trailer.SHA256 || !maps.Equal(r.lines, r.trailer.Lines) {
		return r.fail("has another checksum or other numbers of lines than the lines before it: the file was changed or damaged")
	}
	if _, err := r.text.Peek(1); !errors.Is(err, io.EOF) {
		r.at++
		return r.fail("follows the end of the export: are several files joined? import them one after another")
	}
	return nil
}
