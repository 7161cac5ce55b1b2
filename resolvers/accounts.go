package resolvers

import (
	"context"

	"ovation/accounts"
	"ovation/api/codes"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/storage"
)

var errAccountsDisabled = &problem{
	codes.NotFound,
	"this site has no accounts of its own: --accounts (OVATION_ACCOUNTS) turns them on",
}

// credentials returns the given name and password as Credentials, with the viewer's
// tenant and the client's address. The rate of attempts is limited for each address.
func (r mutationResolver) credentials(ctx context.Context, name, password string) accounts.Credentials {
	return accounts.Credentials{
		Tenant: viewer.FromContext(ctx).Tenant, Name: name, Password: password, From: rate.FromContext(ctx).Address(),
	}
}

func (r mutationResolver) Register(ctx context.Context, in graph.RegisterInput) (*graph.SessionPayload, error) {
	if r.accounts == nil {
		return nil, errAccountsDisabled
	}
	return session(ctx)(r.accounts.Register(ctx, r.credentials(ctx, in.Name, in.Password)))
}

func (r mutationResolver) LogIn(ctx context.Context, in graph.LogInInput) (*graph.SessionPayload, error) {
	if r.accounts == nil {
		return nil, errAccountsDisabled
	}
	return session(ctx)(r.accounts.LogIn(ctx, r.credentials(ctx, in.Name, in.Password)))
}

func (r mutationResolver) RefreshToken(ctx context.Context) (*graph.SessionPayload, error) {
	me, err := r.accountHolder(ctx)
	if err != nil {
		return nil, err
	}
	return session(ctx)(r.accounts.Refresh(ctx, me, rate.FromContext(ctx).Address(), viewer.SessionFrom(ctx)))
}

func (r mutationResolver) ChangePassword(ctx context.Context, in graph.ChangePasswordInput) (*graph.SessionPayload, error) {
	me, err := r.accountHolder(ctx)
	if err != nil {
		return nil, err
	}
	return session(ctx)(r.accounts.ChangePassword(ctx, me, rate.FromContext(ctx).Address(), in.CurrentPassword, in.NewPassword))
}

func (r mutationResolver) LogOutEverywhere(ctx context.Context) (*graph.LogOutEverywherePayload, error) {
	me, err := r.accountHolder(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.accounts.LogOutEverywhere(ctx, me); err != nil {
		return nil, err
	}
	return &graph.LogOutEverywherePayload{User: me}, nil
}

func (r mutationResolver) UpdateProfile(ctx context.Context, in graph.UpdateProfileInput) (*graph.UpdateProfilePayload, error) {
	me, err := r.accountHolder(ctx)
	if err != nil {
		return nil, err
	}
	change := accounts.ProfileChange{Name: in.Name, AvatarURL: in.AvatarURL, BackgroundURL: in.BackgroundURL, Signature: in.Signature}
	updated, err := r.accounts.UpdateProfile(ctx, me, change)
	if err != nil {
		return nil, atPath("input.", err)
	}
	if r.videos != nil {
		r.videos.RemoveFormerAvatar(ctx, updated)
	}
	loaders.FromContext(ctx).ClearAll()
	return &graph.UpdateProfilePayload{User: me}, nil
}

// accountHolder returns the viewer, or an error if the viewer is anonymous or the site
// has no accounts. It does not check that the viewer has an account.
func (r mutationResolver) accountHolder(ctx context.Context) (storage.User, error) {
	if r.accounts == nil {
		return storage.User{}, errAccountsDisabled
	}
	return authenticated(ctx)
}

// session returns a function that converts the results of a method of accounts.Service to
// those of a resolver.
func session(ctx context.Context) func(accounts.Session, error) (*graph.SessionPayload, error) {
	return func(s accounts.Session, err error) (*graph.SessionPayload, error) {
		if err != nil {
			return nil, atPath("input.", err)
		}
		loaders.FromContext(ctx).ClearAll()
		return &graph.SessionPayload{Token: s.Token, ExpiresAt: s.Expires, User: s.User}, nil
	}
}

func (r userResolver) Profile(ctx context.Context, obj *storage.User) (*storage.Profile, error) {
	if r.accounts == nil {
		return nil, nil //nolint:nilnil // null is the answer
	}
	return loaders.Profiles.Load(ctx, *obj)
}
