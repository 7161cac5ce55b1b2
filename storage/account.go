package storage

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits for accounts.
const (
	MaxAccountNameRunes = 32 // characters: code points after canonical composition (NFC)
	MaxSignatureRunes   = 200
	MaxURLBytes         = 2048
	maxNameKeyBytes     = 1024
	maxPasswordBytes    = 512 // of an encoded hash
)

// Account is a user who has registered. The user's id is a decimal number below
// MaxCommentID. Ids increase with time (see IDEpoch). Accounts that were restored may have
// the id of a named user instead; see User.AccountKey.
type Account struct {
	User User
	Profile
	// NameKey is the folded name. No two accounts of a tenant have the same NameKey.
	NameKey string
	// Password is an encoded hash with its parameters. It is never logged.
	Password string
	// Generation rises when the user's tokens are revoked. A token names the
	// generation that it was issued in.
	Generation int64
	Created    int64 // in microseconds since 1970
}

// AccountID parses the user id as the id of an account. It returns 0 and false if no
// account can have this id. The account need not exist.
func (u User) AccountID() (id int64, ok bool) {
	if id, ok = ParseCommentID(u.UserID); !ok {
		return 0, false
	}
	return id, true
}

// AccountUser returns the user whose account has the given id.
func AccountUser(tenant string, id int64) User { return User{tenant, strconv.FormatInt(id, 10)} }

// Names that can be the ids of accounts consist of up to maxNamedID of these characters
// and begin with a letter. 38^12 is less than 2^63.
const (
	namedID    = "abcdefghijklmnopqrstuvwxyz0123456789-"
	maxNamedID = 12
)

// AccountKey returns the number under which stores keep the user's account. It is the
// AccountID, or a negative number if the user id is a name: a lower-case letter followed by
// up to 11 lower-case letters, digits and hyphens. Every key stands for one user id. Only
// Restore creates accounts of named users. It returns 0 and false if no account can have
// this id. The account need not exist.
func (u User) AccountKey() (key int64, ok bool) {
	if id, ok := u.AccountID(); ok {
		return id, true
	}
	if u.UserID == "" || len(u.UserID) > maxNamedID || u.UserID[0] < 'a' || u.UserID[0] > 'z' {
		return 0, false
	}
	for i := range len(u.UserID) {
		digit := strings.IndexByte(namedID, u.UserID[i])
		if digit < 0 {
			return 0, false
		}
		key = key*(int64(len(namedID))+1) - int64(digit+1)
	}
	return key, true
}

// KeyUser returns the user whose account has the given key.
func KeyUser(tenant string, key int64) User {
	if key >= 0 {
		return AccountUser(tenant, key)
	}
	const base = int64(len(namedID) + 1)
	var name []byte
	for ; key != 0; key /= base {
		name = append(name, namedID[max(-(key%base)-1, 0)])
	}
	slices.Reverse(name)
	return User{tenant, string(name)}
}

// Profile is what an account shows to others.
type Profile struct {
	Name       string
	Avatar     string // a URL, or empty if there is none; see AvatarPath
	Background string // a URL, or empty if there is none
	Signature  string
}

// AvatarURL returns the URL of the avatar, or nil if there is none.
func (p *Profile) AvatarURL() *string { return orNil(p.Avatar) }

// BackgroundURL returns the URL of the background picture, or nil if there is none.
func (p *Profile) BackgroundURL() *string { return orNil(p.Background) }

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Uploaded pictures of profiles in the blob store.
const (
	avatarFolder    = "avatars/"
	avatarExtension = ".jpg"
)

// AvatarKey returns the key of an uploaded picture in the blob store. The name of the
// picture is one that ValidateFile accepts.
func AvatarKey(file string) string { return avatarFolder + file + avatarExtension }

// AvatarPath returns the path of an uploaded picture on the site: the Avatar of the
// profile that the picture belongs to, and of no other.
func AvatarPath(file string) string { return MediaPath + AvatarKey(file) }

// AvatarFile returns the name of the uploaded picture that is the avatar. It is empty if
// there is no avatar, or if the avatar is any other URL.
func (p *Profile) AvatarFile() string { return avatarFile(p.Avatar) }

func avatarFile(address string) string {
	file, is := strings.CutPrefix(address, MediaPath+avatarFolder)
	file, ends := strings.CutSuffix(file, avatarExtension)
	if !is || !ends || ValidateFile(file) != nil {
		return ""
	}
	return file
}

// NewAccount is an account to create.
type NewAccount struct {
	Tenant   string
	Name     string
	NameKey  string
	Password string // encoded hash
}

// Validate returns an *InvalidError if a value is out of bounds.
func (a NewAccount) Validate() error {
	if err := ValidateTenant(a.Tenant); err != nil {
		return err
	}
	if err := validateAccountName(a.Name, a.NameKey); err != nil {
		return err
	}
	return validatePassword(a.Password)
}

// ValidateAccountName checks the name of an account: one line of 1 to 32 characters, at
// least one of them visible, that does not begin or end with a space.
func ValidateAccountName(name string) error {
	composed := utf8.RuneCountInString(norm.NFC.String(name))
	if composed > MaxAccountNameRunes {
		return tooLong("name", composed, MaxAccountNameRunes)
	}
	return validateName("name", name, utf8.RuneCountInString(name))
}

func validateAccountName(name, key string) error {
	if err := ValidateAccountName(name); err != nil {
		return err
	}
	if key == "" || len(key) > maxNameKeyBytes || !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return &InvalidError{Field: "name", Reason: "cannot be compared with other names"}
	}
	return nil
}

// validatePassword checks the length and the characters of an encoded hash, but not its
// format. The error does not contain the hash.
func validatePassword(encoded string) error {
	if encoded == "" || len(encoded) > maxPasswordBytes || !utf8.ValidString(encoded) || strings.ContainsRune(encoded, 0) {
		return &InvalidError{Field: "password", Reason: fmt.Sprintf("must be an encoded hash of at most %d bytes", maxPasswordBytes)}
	}
	return nil
}

// PasswordChange replaces the hash of a password.
type PasswordChange struct {
	// From is the hash to replace. The change fails if the account no longer has it.
	From, To string
	// Revoke also revokes the user's tokens.
	Revoke bool
}

// Validate returns an *InvalidError if a value is out of bounds.
func (c PasswordChange) Validate() error { return validatePassword(c.To) }

// ProfileChange is a change to a profile. Values whose field is nil stay as they are.
type ProfileChange struct {
	Name       *string
	NameKey    string // the folded form of Name
	Avatar     *string
	Background *string
	Signature  *string
	// Uploaded allows Avatar to be the path of an uploaded picture that is not the avatar
	// yet. It is set for a picture that the user has just uploaded.
	Uploaded bool
}

// UpdatedProfile is the result of a ProfileChange.
type UpdatedProfile struct {
	Profile         // as it is now
	Former  Profile // as it was before
}

// Check returns the change with the signature in the form in which it will be stored, or
// an *InvalidError.
func (c ProfileChange) Check() (ProfileChange, error) {
	if c.Name != nil {
		if err := validateAccountName(*c.Name, c.NameKey); err != nil {
			return c, err
		}
	}
	for field, address := range map[string]*string{"avatarUrl": c.Avatar, "backgroundUrl": c.Background} {
		if address != nil {
			if err := validateURL(field, *address); err != nil {
				return c, err
			}
		}
	}
	if c.Signature != nil {
		text := strings.TrimSpace(*c.Signature)
		if text != "" {
			var err error
			if text, err = CleanText("signature", text, MaxSignatureRunes); err != nil {
				return c, err
			}
		}
		c.Signature = &text
	}
	return c, nil
}

// Apply changes an account and reports whether anything has changed. Errors: ErrNotFound
// if the account is that of an erased user; *InvalidError if the avatar is an uploaded
// picture that is not the account's, so that no two accounts name the same file.
func (c ProfileChange) Apply(to *Account) (bool, error) {
	before, key := to.Profile, to.NameKey
	if key == "" {
		return false, ErrNotFound
	}
	if c.Avatar != nil && *c.Avatar != before.Avatar && !c.Uploaded && avatarFile(*c.Avatar) != "" {
		return false, &InvalidError{Field: "avatarUrl", Reason: "must not be an uploaded picture of another or a former profile: upload the picture to " + strings.TrimSuffix(MediaPath+avatarFolder, "/")}
	}
	for _, one := range []struct {
		to   *string
		from *string
	}{{&to.Name, c.Name}, {&to.Avatar, c.Avatar}, {&to.Background, c.Background}, {&to.Signature, c.Signature}} {
		if one.from != nil {
			*one.to = *one.from
		}
	}
	if c.Name != nil {
		to.NameKey = c.NameKey
	}
	return to.Profile != before || to.NameKey != key, nil
}

// validateURL checks the address of a picture. It must consist of printable ASCII and be
// empty, an http or https URL, or an absolute path on this site.
func validateURL(field, address string) error {
	if address == "" {
		return nil
	}
	if len(address) > MaxURLBytes {
		return &InvalidError{Field: field, Reason: fmt.Sprintf("is %d bytes long; at most %d are allowed", len(address), MaxURLBytes)}
	}
	refused := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'<>\\^`{|}", r) }
	u, err := url.Parse(address)
	switch {
	case err != nil, strings.ContainsFunc(address, refused):
	case u.Scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/") && !strings.HasPrefix(address, "//"):
		return nil
	case (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil:
		return nil
	}
	return &InvalidError{Field: field, Reason: "must be an http or https URL, or an absolute path on this site, of printable ASCII"}
}

// Revocation invalidates all tokens that were issued to User in generations before
// Generation.
type Revocation struct {
	User       User
	Generation int64
	At         int64 // by the store's clock, in microseconds since 1970
}

// RevocationOverlap is the longest time, in microseconds, from a revocation's At until
// the revocation becomes visible. There is such a delay because At is determined when the
// transaction begins, and the revocation becomes visible when the transaction commits. A
// reader that follows revocations must therefore re-read the last RevocationOverlap
// microseconds.
const RevocationOverlap = 120 * 1_000_000

// ProfileReader looks up profiles.
type ProfileReader interface {
	// Profiles returns the profile of each user, or nil for a user without an account.
	Profiles(ctx context.Context, users []User) ([]*Profile, error)
}

// Accounts stores accounts. Changes are committed before a method returns, and are then
// visible to every later call to any store on the same database.
type Accounts interface {
	ProfileReader
	// CreateAccount creates an account with Generation 1. Errors: ErrInvalid,
	// ErrAccountNameTaken.
	CreateAccount(ctx context.Context, account NewAccount) (*Account, error)
	// AccountNamed returns the account with this folded name, or nil if there is none.
	AccountNamed(ctx context.Context, tenant, nameKey string) (*Account, error)
	// AccountOf returns the user's account, or nil if there is none.
	AccountOf(ctx context.Context, user User) (*Account, error)
	// ReplacePassword replaces a user's password hash and returns the account. Errors:
	// ErrInvalid; ErrNotFound if the user has no account, or if the account's hash is not
	// change.From.
	ReplacePassword(ctx context.Context, user User, change PasswordChange) (*Account, error)
	// RevokeTokens begins the user's next generation. Errors: ErrNotFound.
	RevokeTokens(ctx context.Context, user User) (*Account, error)
	// UpdateProfile changes a profile and returns the result. Errors: ErrInvalid,
	// ErrNotFound, ErrAccountNameTaken. If the avatar was an uploaded picture and has
	// changed, the caller removes the file of the former one.
	UpdateProfile(ctx context.Context, user User, change ProfileChange) (*UpdatedProfile, error)
	// NamedAvatars reports for each file name whether an uploaded picture with this name
	// is the avatar of an account (AvatarFile).
	NamedAvatars(ctx context.Context, files []string) ([]bool, error)
	// Revocations returns up to limit revocations, beginning with the first one that
	// follows the given revocation. They are ordered by At, then by tenant, then by user
	// id as a number. For each user, only the latest revocation is stored.
	Revocations(ctx context.Context, after Revocation, limit int) ([]Revocation, error)
}
