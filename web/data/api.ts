import { Client, fetchExchange, type AnyVariables, type TypedDocumentNode } from '@urql/core';
import { viewerHeaders } from '../viewer';

// Counts by their GraphQL names.
export interface Counts {
  readonly readCount: number;
  readonly readerCount: number;
  readonly likeCount: number;
  readonly dislikeCount: number;
  readonly collectCount: number;
  readonly followerCount: number;
}

export interface Survey {
  readonly tenant: string;
  readonly now: string;
  readonly kinds: readonly (Counts & { readonly biz: string; readonly subjects: number; readonly comments: number })[];
  readonly users: number;
  readonly folders: number;
  readonly persistedAt: string | null; // null if nothing was persisted except by imports
  readonly waiting: number; // actions that are accepted but not persisted
  readonly problem: string; // why nothing can be persisted; empty if it can
}

export type HotSubject = Counts & { readonly biz: string; readonly bizId: string; readonly author: string };

// Change is the latest change of one state of a user.
export interface Change {
  readonly at: string;
  readonly user: string; // empty for all anonymous viewers together
  readonly what: 'reaction' | 'folder' | 'follow' | 'read';
  readonly was: string;
  readonly is: string;
  readonly times: number; // number of reads
  readonly since: string | null;
}

// Activity has the number of changes of a kind in each hour of the last day, the latest hour
// last.
export interface Activity {
  readonly biz: string;
  readonly hours: readonly number[];
}

// The user of requests that require a viewer, but no particular one.
export const somebody = 'data-page';

const patience = 25_000; // milliseconds: the server's own timeout is 20 s

const client = new Client({
  url: new URL('/graphql', location.href).href,
  preferGetMethod: false,
  requestPolicy: 'network-only',
  exchanges: [fetchExchange],
});

// ask sends a request to the GraphQL API as a user, which the development server allows.
export async function ask<Data, Variables extends AnyVariables>(
  tenant: string,
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  signal: AbortSignal,
  user = somebody,
): Promise<Data> {
  const { data, error } = await client
    .query(document, variables, {
      fetch: (input: RequestInfo | URL, init?: RequestInit) => fetch(input, { ...init, signal: within(signal) }),
      fetchOptions: { headers: headers(tenant, user) },
    })
    .toPromise();
  if (error || !data) throw new Error(error?.graphQLErrors[0]?.message ?? error?.message ?? 'There is no answer.');
  return data;
}

// look requests what GraphQL does not offer: data about the store as a whole.
export async function look<T>(tenant: string, what: 'survey' | 'hottest' | 'history' | 'activity', params: Record<string, string>, signal: AbortSignal): Promise<T> {
  const response = await fetch(`/data/${what}?${new URLSearchParams(params).toString()}`, { headers: headers(tenant, ''), signal: within(signal) });
  const answer = (await response.json()) as T | { error: string };
  if (!response.ok) throw new Error((answer as { error: string }).error);
  return answer as T;
}

export function headers(tenant: string, user: string): Record<string, string> {
  return { ...viewerHeaders({ user, token: '' }), ...(tenant ? { 'x-ovation-tenant': tenant } : {}) };
}

function within(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(patience)]);
}
