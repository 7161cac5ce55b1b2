import { CombinedError } from '@urql/core';
import type { Pending } from './outbox';

// What is pending is kept for each user of the browser tab. With the tab it is forgotten, so
// that no other tab sends it, too.
const keyOf = (userId: string) => `ovation:demo:outbox:${userId}`;

// keep stores what is pending if the browser permits it.
export function keep(userId: string, pending: readonly Pending[]): void {
  try {
    if (pending.length === 0) sessionStorage.removeItem(keyOf(userId));
    else sessionStorage.setItem(keyOf(userId), JSON.stringify(pending.map(stored)));
  } catch {
    // Storage is blocked or full: it is kept as long as the page.
  }
}

// kept returns what is stored. What was being sent is to be sent again.
export function kept(userId: string): Pending[] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(keyOf(userId)) ?? '[]');
    return Array.isArray(found) ? found.filter(isStored).map(restored) : [];
  } catch {
    return []; // storage is blocked or its content is invalid
  }
}

type Failures = readonly { readonly message: string; readonly extensions: Record<string, unknown> }[];

function stored(one: Pending): object {
  const { error, ...rest } = one;
  const failures: Failures = error?.graphQLErrors.map(({ message, extensions }) => ({ message, extensions })) ?? [];
  return { ...rest, delivered: undefined, ...(failures.length > 0 && { failures }) };
}

function restored({ failures, ...rest }: Pending & { failures?: Failures }): Pending {
  return { ...rest, ...(failures && { error: new CombinedError({ graphQLErrors: [...failures] }) }) };
}

function isStored(value: unknown): value is Pending {
  const { kind, requestId, at } = (value ?? {}) as Partial<Pending>;
  return (kind === 'message' || kind === 'comment' || kind === 'action') && typeof requestId === 'string' && typeof at === 'string';
}
