package demo

import (
	"context"
	"errors"
	"fmt"

	"ovation/accounts"
	"ovation/media"
	"ovation/storage"
)

// people adds the accounts of all people, with their profiles. No password matches, because
// a password that everyone knows would remain when the site is made public.
func (d *demo) people(ctx context.Context, store storage.Store) (m storage.Message, err error) {
	password := accounts.UnmatchedHash()
	var all storage.Archive
	for _, p := range people {
		key, err := accounts.NameKey(p.name)
		if err != nil {
			return m, err
		}
		all.Accounts = append(all.Accounts, storage.Account{
			User: named(p.id), Profile: storage.Profile{Name: p.name, Signature: p.bio}, NameKey: key, Password: password,
			Generation: 1, Created: storage.Micros(d.now.Add(-month)),
		})
	}
	_, err = store.Restore(ctx, &all, nil)
	return m, err
}

const avatarsID = "demo-avatars-1"

// addAvatars draws the avatars of all people who have none, unless an earlier call has
// done so, and makes them part of the profiles. It does nothing on a site without
// accounts.
func addAvatars(ctx context.Context, store storage.Store, service *media.Service) error {
	if seen, err := store.Seen(ctx, []string{avatarsID}); err != nil || seen[0] {
		return err
	}
	all := make([]storage.User, len(people))
	for i, p := range people {
		all[i] = named(p.id)
	}
	profiles, err := store.Profiles(ctx, all)
	if err != nil {
		return err
	}
	for i, profile := range profiles {
		if profile == nil || profile.Avatar != "" {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		content, err := people[i].face.EncodePNG()
		if err != nil {
			return fmt.Errorf("encode the avatar of %s: %w", people[i].id, err)
		}
		if _, err := service.SetAvatar(ctx, all[i], content); err != nil {
			if errors.Is(err, media.ErrNoAccounts) {
				return nil
			}
			return err
		}
	}
	return persist(ctx, store, avatarsID, storage.Message{})
}
