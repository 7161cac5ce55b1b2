package storage

import (
	"fmt"
)

// Limits for the names and ids that clients supply.
const (
	MaxTenantBytes = 63  // a tenant's name
	MaxBizBytes    = 32  // a kind of content
	MaxIDBytes     = 128 // the id of a subject or of a user
)

// BizUser is the kind of content of subjects that are users: the bizId is the user's id.
const BizUser = "user"

// DefaultTenant is the tenant of requests that do not name a tenant.
const DefaultTenant = "default"

// Subject is anything that can be interacted with. It needs no registration.
// It is comparable and serves as a map key.
type Subject struct {
	Tenant string
	Biz    string // the kind of content, for example "video"
	BizID  string // its id in the system that it comes from
}

// User is a user of a tenant. An empty UserID means the anonymous user.
type User struct {
	Tenant string
	UserID string
}

// Subject returns the user as a subject that others interact with.
func (u User) Subject() Subject { return Subject{u.Tenant, BizUser, u.UserID} }

// Anonymous reports whether the user is the anonymous user.
func (u User) Anonymous() bool { return u.UserID == "" }

// Validate returns an *InvalidError that names the first part of s that is
// out of bounds, or nil.
func (s Subject) Validate() error {
	if err := ValidateTenant(s.Tenant); err != nil {
		return err
	}
	if err := ValidateBiz(s.Biz); err != nil {
		return err
	}
	return validateID("bizId", s.BizID)
}

// Validate returns an *InvalidError that names the first part of u that is out of bounds,
// or nil. The anonymous user of a valid tenant is valid.
func (u User) Validate() error {
	if err := ValidateTenant(u.Tenant); err != nil {
		return err
	}
	if u.Anonymous() {
		return nil
	}
	return ValidateUserID(u.UserID)
}

// ValidateTenant checks a tenant's name: 1 to 63 characters of a–z, 0–9, "_" and "-", not
// starting with "_" or "-".
func ValidateTenant(tenant string) error {
	if name(tenant, MaxTenantBytes, true) {
		return nil
	}
	return &InvalidError{Field: "tenant", Reason: fmt.Sprintf(
		"must be 1 to %d characters of a-z, 0-9, _ and -, starting with a letter or a digit", MaxTenantBytes)}
}

// ValidateBiz checks a kind of content: 1 to 32 characters of a–z, 0–9, "_" and "-",
// starting with a letter.
func ValidateBiz(biz string) error {
	if name(biz, MaxBizBytes, false) {
		return nil
	}
	return &InvalidError{Field: "biz", Reason: fmt.Sprintf(
		"must be 1 to %d characters of a-z, 0-9, _ and -, starting with a letter", MaxBizBytes)}
}

// ValidateUserID checks the user id of a user who is not anonymous: 1 to 128 bytes of
// UTF-8 on one line (see checkText).
func ValidateUserID(id string) error { return validateID("userId", id) }

func name(s string, most int, digitFirst bool) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter, digit := 'a' <= c && c <= 'z', '0' <= c && c <= '9'
		if letter || digit && (i > 0 || digitFirst) || i > 0 && (c == '_' || c == '-') {
			continue
		}
		return false
	}
	return true
}

func validateID(field, id string) error {
	switch {
	case id == "":
		return &InvalidError{Field: field, Reason: "must not be empty"}
	case len(id) > MaxIDBytes:
		return &InvalidError{Field: field, Reason: fmt.Sprintf("is %d bytes long; at most %d are allowed", len(id), MaxIDBytes)}
	}
	return checkText(field, id, idText)
}
