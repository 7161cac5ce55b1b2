package accounts

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/secure/precis"

	"ovation/storage"
)

// Limits on the length of passwords, in characters and in bytes of UTF-8. The minimum is
// what clients of the REST API already accept, and Config.MinPassword can raise it for new
// passwords; the maximum bounds the cost of hashing.
const (
	MinPasswordRunes = 6
	MaxPasswordRunes = 128
	maxPasswordBytes = 4 * MaxPasswordRunes
)

// cleanPassword normalises a password by the OpaqueString profile of PRECIS (RFC 8265),
// so that different encodings of the same characters give the same result. Errors:
// *storage.InvalidError.
func cleanPassword(field, password string) (string, error) {
	return checkPassword(field, password, MinPasswordRunes)
}

// checkPassword is like cleanPassword, for a minimum length in characters.
func checkPassword(field, password string, least int) (string, error) {
	bounds := &storage.InvalidError{Field: field, Reason: fmt.Sprintf("must be %d to %d characters of text", least, MaxPasswordRunes)}
	if len(password) > maxPasswordBytes || !utf8.ValidString(password) {
		return "", bounds
	}
	cleaned, err := precis.OpaqueString.String(password)
	if n := utf8.RuneCountInString(cleaned); err != nil || n < least || n > MaxPasswordRunes {
		return "", bounds
	}
	return cleaned, nil
}

// Params is the cost of an argon2id hash.
type Params struct {
	Memory  uint32 // in KiB
	Time    uint32 // passes
	Threads uint8
}

// DefaultParams is the minimum that OWASP recommends: 19 MiB of memory and two passes,
// which take about 40 ms on one core.
var DefaultParams = Params{Memory: 19 << 10, Time: 2, Threads: 1}

// Limits on the parameters of stored hashes, and the sizes of salt and hash. Hashes
// beyond these limits or of other sizes are rejected, so that a manipulated row cannot
// exhaust memory.
const (
	maxMemory = 1 << 20 // KiB
	maxTime   = 64
	saltBytes = 16
	hashBytes = 32
)

// weakerThan reports whether a hash with the parameters in p should be upgraded to those
// in other.
func (p Params) weakerThan(other Params) bool { return p.Memory < other.Memory || p.Time < other.Time }

// passwordHash is a hash with its salt and parameters.
type passwordHash struct {
	Params

	salt, hash []byte
}

func (p Params) sum(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, p.Time, p.Memory, p.Threads, hashBytes)
}

// hash hashes a password with a random salt. It allocates p.Memory.
func (p Params) hash(password string) passwordHash {
	salt := random(saltBytes)
	return passwordHash{p, salt, p.sum(password, salt)}
}

// decoy returns a hash that no password matches. It stands in for the hash of an unknown
// name.
func (p Params) decoy() passwordHash { return passwordHash{p, random(saltBytes), random(hashBytes)} }

func random(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.Read(out) // never fails
	return out
}

// matches reports whether h is the hash of the password. It allocates as much memory as
// h.Memory states.
func (h passwordHash) matches(password string) bool {
	return subtle.ConstantTimeCompare(h.sum(password, h.salt), h.hash) == 1
}

// encode returns the hash in the format of the Password Hashing Competition.
func (h passwordHash) encode() string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.Memory, h.Time, h.Threads,
		b64.EncodeToString(h.salt), b64.EncodeToString(h.hash))
}

// errHash does not quote the stored text, which is a secret.
var errHash = errors.New("the stored password hash cannot be read")

// parseHash parses a hash that encode has written. Errors: errHash.
func parseHash(text string) (passwordHash, error) {
	var h passwordHash
	parts := strings.Split(text, "$")
	if len(parts) != 6 {
		return h, errHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.Memory, &h.Time, &h.Threads); err != nil {
		return h, errHash
	}
	var wrong [2]error
	h.salt, wrong[0] = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	h.hash, wrong[1] = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	switch {
	case wrong[0] != nil, wrong[1] != nil, len(h.salt) != saltBytes, len(h.hash) != hashBytes,
		h.Memory > maxMemory, h.Time == 0, h.Time > maxTime, h.Threads == 0, h.encode() != text:
		return h, errHash
	}
	return h, nil
}
