package accounts

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"time"

	"ovation/api/viewer"
	"ovation/storage"
)

// ChangePassword replaces a user's password, revokes all of the user's tokens and
// begins a new session. The user's address is from, or the zero value if it is unknown.
// Errors: storage.ErrInvalid, ErrWrongPassword, ErrNoAccount, *LimitedError, ErrBusy.
func (s *Service) ChangePassword(ctx context.Context, me storage.User, from netip.Addr, current, next string) (Session, error) {
	unused := prepaid(2)
	defer unused.giveBack(ctx)
	next, err := s.newPassword("newPassword", next)
	if err != nil {
		return Session{}, err
	}
	current, err = cleanPassword("currentPassword", current)
	if err != nil {
		return Session{}, err
	}
	a, err := s.account(ctx, me)
	if err != nil {
		return Session{}, err
	}
	attempt, err := s.attempts.changePassword(me.ID(), nameOfAccount(a), from)
	if err != nil {
		return Session{}, err
	}
	by := caller{from, true}
	matches, encoded := false, ""
	of, err := parseHash(a.Password)
	if err == nil {
		matches, err = s.matches(ctx, by, of, current)
	}
	if err == nil {
		unused--
	}
	if err == nil && !matches {
		attempt.failed()
		return Session{}, ErrWrongPassword
	}
	if err == nil {
		encoded, err = s.hash(ctx, by, next)
	}
	if err != nil {
		attempt.cancelled()
		return Session{}, err
	}
	unused--
	attempt.succeeded()
	known := s.Sessions.Generation(me)
	changed, err := s.Store.ReplacePassword(ctx, me, storage.PasswordChange{From: a.Password, To: encoded, Revoke: true})
	if errors.Is(err, storage.ErrNotFound) { // the password was changed meanwhile
		return Session{}, ErrWrongPassword
	}
	if err != nil {
		return Session{}, err
	}
	if changed, err = s.revoked(ctx, changed, known); err != nil {
		return Session{}, err
	}
	return s.begin(ctx, changed)
}

// LogOutEverywhere revokes all tokens of a user. Errors: ErrNoAccount.
func (s *Service) LogOutEverywhere(ctx context.Context, me storage.User) error {
	known := s.Sessions.Generation(me)
	a, err := s.Store.RevokeTokens(ctx, me)
	if errors.Is(err, storage.ErrNotFound) {
		return ErrNoAccount
	}
	if err == nil {
		_, err = s.revoked(ctx, a, known)
	}
	return err
}

// revoked makes this node immediately reject the tokens that were issued before the
// account reached its current generation. If that is not above the generation that this
// node knew before, the database has lost revocations, and the generation is raised, so
// that tokens of the lost generations are rejected, too. It returns the account.
func (s *Service) revoked(ctx context.Context, a *storage.Account, known int64) (*storage.Account, error) {
	a, err := s.restore(ctx, a, known+1)
	if err == nil {
		s.Sessions.Revoke(storage.Revocation{User: a.User, Generation: a.Generation, At: storage.Micros(s.Now())})
	}
	return a, err
}

// Refresh returns the session with a new token. The user's address is from, or the zero
// value if it is unknown. Errors: ErrNoAccount if the token does not belong to an account;
// ErrSessionOver if the session was revoked, or began more than MaxSession ago.
func (s *Service) Refresh(ctx context.Context, me storage.User, from netip.Addr, of viewer.Session) (Session, error) {
	if of.Generation == 0 {
		return Session{}, ErrNoAccount
	}
	if s.Now().Sub(time.Unix(of.LoggedIn, 0)) > MaxSession {
		return Session{}, ErrSessionOver
	}
	a, err := s.account(ctx, me)
	switch {
	case err != nil:
		return Session{}, err
	case a.Generation != of.Generation:
		return Session{}, ErrSessionOver
	}
	s.attempts.remember(nameOfAccount(a), from)
	return s.session(a, of.LoggedIn)
}

// ProfileChange is a change to a profile. Fields that are nil leave the profile as it is.
// An empty URL removes the picture.
type ProfileChange struct {
	Name, AvatarURL, BackgroundURL, Signature *string
}

// UpdateProfile changes a user's profile. The caller removes the file of a former avatar,
// as for storage.Accounts. Errors: storage.ErrInvalid, storage.ErrAccountNameTaken,
// ErrNoAccount.
func (s *Service) UpdateProfile(ctx context.Context, me storage.User, c ProfileChange) (*storage.UpdatedProfile, error) {
	change := storage.ProfileChange{Avatar: c.AvatarURL, Background: c.BackgroundURL, Signature: c.Signature}
	if c.Name != nil {
		name, err := foldName(*c.Name)
		if err != nil {
			return nil, err
		}
		if name.former != "" {
			if a, err := s.Store.AccountNamed(ctx, me.Tenant, name.former); err != nil || a != nil && a.User != me {
				return nil, cmp.Or(err, storage.ErrAccountNameTaken)
			}
		}
		change.Name, change.NameKey = &name.shown, name.key
	}
	updated, err := s.Store.UpdateProfile(ctx, me, change)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, ErrNoAccount
	}
	return updated, err
}

// account returns a user's account. Errors: ErrNoAccount.
func (s *Service) account(ctx context.Context, of storage.User) (*storage.Account, error) {
	a, err := s.Store.AccountOf(ctx, of)
	if err == nil && a == nil {
		err = ErrNoAccount
	}
	return a, err
}
