import type { Watched } from '@ovation/client';
import { useMemo } from 'react';
import { useStore } from '../api/store';
import type { NamedFragment } from '../operations';
import { useSession } from '../session';

// Ids of accounts are decimal numbers. Every other id is a name itself.
const ofAccount = /^\d{9,16}$/;
const none: Watched<NamedFragment['profile'] | undefined> = { get: () => null, watch: () => () => {} };

// useProfile is what an account shows. It is null for users without an account, and
// for anonymous viewers; undefined until it is known.
export function useProfile(userId: string | null): NamedFragment['profile'] | undefined {
  const { connection, known, userId: viewer } = useSession();
  const asks = userId !== null && known && viewer !== null && ofAccount.test(userId);
  return useStore(useMemo(() => (asks ? connection.profiles.of(userId) : none), [asks, connection, userId]));
}

// useName is the name of a user. A profile that came along is not asked for.
export function useName(userId: string | null, profile?: { readonly name: string } | null): string {
  const found = useProfile(profile ? null : userId);
  if (profile ?? found) return (profile ?? found)!.name;
  return found === undefined ? '…' : (userId ?? 'nobody');
}

// nameOf is the name of a user whose profile came along.
export function nameOf(user: { readonly userId: string; readonly profile: { readonly name: string } | null }): string {
  return user.profile?.name ?? user.userId;
}
