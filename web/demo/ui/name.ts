import type { Watched } from '@ovation/client';
import { useMemo } from 'react';
import { useStore } from '../api/store';
import { t } from '../messages';
import type { NamedFragment } from '../operations';
import { useSession } from '../session';

// The ids that accounts can have: decimal numbers, and short names. Every other id is a
// name itself.
const ofAccount = /^(\d{9,16}|[a-z][a-z0-9-]{0,11})$/;
const none: Watched<NamedFragment['profile'] | undefined> = { get: () => null, watch: () => () => {} };

// useProfile returns the profile of a user: null for users without an account and for
// anonymous viewers, undefined until it is known.
export function useProfile(userId: string | null): NamedFragment['profile'] | undefined {
  const { connection, known, userId: viewer } = useSession();
  const asks = userId !== null && known && viewer !== null && ofAccount.test(userId);
  return useStore(useMemo(() => (asks ? connection.profiles.of(userId) : none), [asks, connection, userId]));
}

// useName returns the name of a user, or, until it is known, the id if that is a name. A
// profile that is passed is not looked up.
export function useName(userId: string | null, profile?: { readonly name: string } | null): string {
  const found = useProfile(profile ? null : userId);
  if (profile ?? found) return (profile ?? found)!.name;
  if (found === undefined && /^\d/.test(userId!)) return '…';
  return userId ?? t.anonymous;
}

// usePicture returns the picture of a user. A profile that is passed is not looked up.
export function usePicture(userId: string | null, profile?: { readonly avatarUrl: string | null } | null): string | null | undefined {
  const found = useProfile(profile ? null : userId);
  return (profile ?? found)?.avatarUrl;
}

// nameOf returns the name of a user whose profile is known.
export function nameOf(user: { readonly userId: string; readonly profile: { readonly name: string } | null }): string {
  return user.profile?.name ?? user.userId;
}
