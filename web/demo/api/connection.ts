import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { createClient, type Client as Socket } from 'graphql-ws';
import { viewerHeaders, viewerParams, type Viewer } from '../../viewer';
import { apart } from './apart';
import { normalisedCache } from './cache';
import { newest } from './newest';
import { Store } from './store';

// Link is how the page hears of changes: the state of its WebSocket.
export type Link = 'idle' | 'connecting' | 'live' | 'reconnecting' | 'offline' | 'refused';

// Connection is everything that belongs to one viewer. A change of viewer is a
// new connection with an empty cache; close the old one.
export interface Connection {
  readonly viewer: Viewer;
  readonly client: Client;
  readonly link: Store<Link>;
  close(): void;
}

const endpoint = '/graphql';
const patience = 15_000; // milliseconds for an answer
const pingEvery = 10_000;
const pongWithin = 5_000;

export function connect(viewer: Viewer): Connection {
  const link = new Store<Link>('idle');
  const socket = openSocket(viewer, link);
  const client = new Client({
    url: new URL(endpoint, location.href).href,
    preferGetMethod: false,
    fetch: (input, init) => fetch(input, { ...init, signal: within(patience, init?.signal) }),
    fetchOptions: { headers: { accept: 'application/graphql-response+json, application/json;q=0.9', ...viewerHeaders(viewer) } },
    exchanges: [
      apart,
      normalisedCache(),
      newest,
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query: query ?? '', variables: variables ?? {} }, sink) }),
        }),
      }),
      fetchExchange,
    ],
  });
  return { viewer, client, link, close: () => void socket.dispose() };
}

// openSocket connects at the first subscription, and again whenever it must:
// what is subscribed then comes anew, beginning with how it is by now.
function openSocket(viewer: Viewer, link: Store<Link>): Socket {
  let pong: ReturnType<typeof setTimeout> | undefined;
  const socket = createClient({
    url: new URL(endpoint, location.href.replace(/^http/, 'ws')).href,
    connectionParams: viewerParams(viewer),
    retryAttempts: Infinity,
    shouldRetry: (problem) => why(problem) !== 'refused', // the same token would be refused again
    retryWait: (retries) => pause(Math.min(10_000, 250 * 2 ** retries) * (0.5 + Math.random() / 2)),
    keepAlive: pingEvery,
    on: {
      connecting: (retry) => link.set(retry ? 'reconnecting' : 'connecting'),
      connected: () => link.set('live'),
      closed: (event) => link.set(why(event)),
      ping: (received) => {
        if (!received) pong = setTimeout(() => socket.terminate(), pongWithin);
      },
      pong: (received) => {
        if (received) clearTimeout(pong);
      },
    },
  });
  return socket;
}

function why(event: unknown): Link {
  if (!navigator.onLine) return 'offline';
  const { code, wasClean } = event as CloseEvent;
  if (code === 4401 || code === 4403) return 'refused';
  return code === 1000 && wasClean ? 'idle' : 'reconnecting';
}

// pause waits, but no longer than until the machine is on the net again.
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    addEventListener('online', end);
  });
}

function within(milliseconds: number, signal?: AbortSignal | null): AbortSignal {
  const timeout = AbortSignal.timeout(milliseconds);
  return signal ? AbortSignal.any([signal, timeout]) : timeout;
}
