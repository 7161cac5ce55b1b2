package persisted

import (
	"bytes"
	"crypto/md5"  //nolint:gosec // identifies documents, as Relay's compiler does; proves nothing
	"crypto/sha1" //nolint:gosec // as above, by GraphQL Code Generator
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on manifests.
const (
	// MaxManifestBytes is the maximum size of a manifest.
	MaxManifestBytes = 16 << 20
	// MaxTrustedDocuments is the maximum number of documents in all manifests together.
	// Documents with the same text count once.
	MaxTrustedDocuments = 10_000
	// maxTrustedBytes is the maximum length of their texts together. A parsed document
	// usually takes 20 times as much memory as its text.
	maxTrustedBytes = 16 << 20
	// maxIDBytes is the maximum length of an id.
	maxIDBytes = 256
)

// apolloFormat is the value of "format" in Apollo's manifests.
const apolloFormat = "apollo-persisted-query-manifest"

// listed is a document in a manifest.
type listed struct {
	id, text string
	// name and kind are those of the operation. They are "" if the manifest has none.
	name, kind string
}

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// readManifest reads a manifest of Relay, Apollo or GraphQL Code Generator. The documents
// are in the order of the file; their ids may not be unique.
func readManifest(file string) ([]listed, error) {
	text, err := readBounded(file)
	if err != nil {
		return nil, err
	}
	members, err := membersOf(text)
	if err != nil {
		return nil, err
	}
	for _, one := range members {
		if one.name == "format" || one.name == "operations" {
			return apollo(members)
		}
	}
	out := make([]listed, 0, len(members))
	for _, one := range members {
		document := listed{id: one.name}
		if json.Unmarshal(one.value, &document.text) != nil || one.value[0] != '"' {
			return nil, fmt.Errorf("it is no manifest of Relay, Apollo or GraphQL Code Generator: %.60q is not the text of a document, and there is no \"format\"", one.name)
		}
		out = append(out, document)
	}
	return out, nil
}

// readBounded reads a file of at most MaxManifestBytes.
func readBounded(file string) (_ []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the file
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder; name the manifest in it")
	case info.Size() > MaxManifestBytes:
		return nil, fmt.Errorf("it has %d MiB; at most %d MiB are allowed", info.Size()>>20, MaxManifestBytes>>20)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxManifestBytes+1)) // the size of a pipe is not known
	switch {
	case err != nil:
		return nil, err
	case len(text) > MaxManifestBytes:
		return nil, fmt.Errorf("it has more than %d MiB", MaxManifestBytes>>20)
	case !utf8.Valid(text):
		return nil, errors.New("it is not valid UTF-8")
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}

// membersOf returns the members of a text that is a JSON object, in their order, also
// those whose names occur more than once.
func membersOf(text []byte) (out []member, _ error) {
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		fault, is := errors.AsType[*json.SyntaxError](err)
		if !is {
			return nil, fmt.Errorf("it is not valid JSON: %w", err)
		}
		before := text[:min(int(fault.Offset), len(text))]
		line := bytes.Count(before, []byte{'\n'}) + 1
		return nil, fmt.Errorf("it is not valid JSON: line %d, byte %d: %w", line, len(before)-bytes.LastIndexByte(before, '\n')-1, err)
	}
	tokens := json.NewDecoder(bytes.NewReader(text))
	if open, _ := tokens.Token(); open != json.Delim('{') {
		return nil, errors.New("it is no manifest of Relay, Apollo or GraphQL Code Generator: it must be a JSON object")
	}
	for tokens.More() {
		token, err := tokens.Token()
		name, is := token.(string)
		if err != nil || !is {
			return nil, fmt.Errorf("a member: %w", err) // impossible: the text is valid
		}
		one := member{name: name}
		if err := tokens.Decode(&one.value); err != nil {
			return nil, fmt.Errorf("the member %.60q: %w", name, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// apollo returns the documents of Apollo's manifest. Members without a meaning here, such
// as "clientName", are ignored.
func apollo(members []member) ([]listed, error) {
	var format string
	var version json.Number
	var operations []struct{ ID, Name, Type, Body string }
	for _, one := range members {
		var into any
		switch one.name {
		case "format":
			into = &format
		case "version":
			into = &version
		case "operations":
			into = &operations
		default:
			continue
		}
		if err := json.Unmarshal(one.value, into); err != nil {
			return nil, fmt.Errorf("%q of Apollo's manifest: %w", one.name, err)
		}
	}
	switch {
	case format != apolloFormat:
		return nil, fmt.Errorf("the \"format\" is %.60q; %q is supported, beside the manifests of Relay and GraphQL Code Generator, which have none", format, apolloFormat)
	case version != "1":
		return nil, fmt.Errorf("the \"version\" of Apollo's manifest is %.20q; 1 is supported", version)
	}
	out := make([]listed, len(operations))
	for i, operation := range operations {
		if operation.ID == "" {
			return nil, fmt.Errorf("operation %d, %.60q, has no \"id\"", i, operation.Name)
		}
		out[i] = listed{operation.ID, operation.Body, operation.Name, operation.Type}
	}
	return out, nil
}

// checkID returns an error if an id is invalid, or if it looks like the hash of a text
// and is not that of the given one: 64 hexadecimal digits, which may follow "sha256:",
// must be the SHA-256, 40 the SHA-1 and 32 the MD5.
func checkID(id, text string) error {
	switch {
	case id == "":
		return errors.New("the id is empty")
	case len(id) > maxIDBytes:
		return fmt.Errorf("the id is %d bytes long; at most %d are allowed", len(id), maxIDBytes)
	case strings.ContainsFunc(id, unicode.IsControl):
		return errors.New("the id has control characters")
	}
	digits, sha256Only := strings.CutPrefix(id, sha256Prefix)
	given, err := hex.DecodeString(digits)
	if err != nil {
		given = nil // no hash
	}
	name, sum := "", []byte(nil)
	switch {
	case len(given) == sha256.Size, sha256Only:
		of := sha256.Sum256([]byte(text))
		name, sum = "SHA-256", of[:]
	case len(given) == sha1.Size:
		of := sha1.Sum([]byte(text)) //nolint:gosec // see above
		name, sum = "SHA-1", of[:]
	case len(given) == md5.Size:
		of := md5.Sum([]byte(text)) //nolint:gosec // see above
		name, sum = "MD5", of[:]
	}
	if !bytes.Equal(given, sum) && name != "" {
		return fmt.Errorf("the id has the form of a %s, but that of the text is %x; generate the manifest again", name, sum)
	}
	return nil
}
