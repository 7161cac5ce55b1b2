import { createClient, type Client } from 'graphql-ws';
import { backoff, isOffline } from './backoff.js';
import { resuming } from './resume.js';
import { Tokens, TokenRejected, type TokenSource } from './token.js';
import { Value, type Watched } from './value.js';

// Status is the state of the connection, for display to the user:
//
// - idle: there are no subscriptions.
// - connecting, live.
// - reconnecting: the connection was lost. It is re-established, and subscriptions
//   start again with the latest counts.
// - offline: as reconnecting, which waits until the machine is online again.
// - rejected: the token is invalid or has expired. There are no retries.
// - failed: client and server do not support each other's protocol. There are no retries.
export interface Status {
  readonly state: 'idle' | 'connecting' | 'live' | 'reconnecting' | 'offline' | 'rejected' | 'failed';
  readonly reason: string; // as sent by the server; often empty
}

// Socket is a client of graphql-ws. Its dispose() ends it.
export interface Socket extends Client {
  readonly status: Watched<Status>;
}

export interface Options {
  // The URL of the API; in a page it may be relative, such as '/graphql'.
  readonly url: string;
  // The token, or a function that returns one and is called for each connection, so
  // that it can return a new token before the last one expires. If omitted, the viewer
  // is anonymous.
  readonly token?: string | TokenSource;
  // Further fields of the payload of connection_init.
  readonly params?: Record<string, unknown>;
  // Outside of browsers: the WebSocket class of the package ws.
  readonly webSocketImpl?: unknown;
}

const pingEvery = 10_000; // milliseconds, like all durations here
const pongWithin = 5_000;
const firstPause = 250;
const longestPause = 5_000;
const linger = 1_000; // after the last subscription: the next view of a page soon has another one

// connect returns a client that connects at the first subscription, and reconnects
// without limit whenever the connection is lost.
//
// A token that the server rejected is not sent again: unless there is another one,
// subscriptions end with a TokenRejected.
export function connect({ url, token, params, webSocketImpl }: Options): Socket {
  const tokens = new Tokens(token);
  const status = new Value<Status>({ state: 'idle', reason: '' });
  const set = (state: Status['state'], reason = '') => status.set({ state, reason });
  let overdue: ReturnType<typeof setTimeout> | undefined; // for the pong

  const client = createClient({
    url: absolute(url),
    webSocketImpl,
    connectionParams: async () => ({ ...params, ...(await tokens.next()) }),
    retryAttempts: Infinity,
    // By itself, graphql-ws gives up when a server is unavailable and retries an invalid token.
    shouldRetry: (problem) => !(problem instanceof TokenRejected) && (codeOf(problem) !== rejected || tokens.mayHaveAnother),
    retryWait: (retries) => pause(backoff(retries, firstPause, longestPause)),
    lazyCloseTimeout: linger,
    keepAlive: pingEvery,
    on: {
      connecting: (again) => set(again ? 'reconnecting' : 'connecting'),
      connected: () => set('live'),
      error(error) {
        if (error instanceof TokenRejected) set('rejected', error.reason);
      },
      closed(event) {
        clearTimeout(overdue);
        if (status.get().state === 'rejected') return; // closed by this client
        const { code } = event as CloseEvent;
        const reason = reasonOf(event);
        if (code === rejected) tokens.reject(reason);
        set(stateAfter(code, tokens), reason);
      },
      ping(received) {
        if (!received) overdue = setTimeout(() => client.terminate(), pongWithin);
      },
      pong(received) {
        if (received) clearTimeout(overdue);
      },
    },
  });
  const explain = (error: unknown) => (codeOf(error) === rejected ? new TokenRejected(reasonOf(error)) : error);
  return { ...resuming(client, explain), status };
}

const rejected = 4403;

// The close codes after which graphql-ws does not retry: these, and most of those
// below 2000.
const fatal = new Set([4004, 4005, 4400, 4401, 4406, 4409, 4429, 4500]);
const transient = new Set([1001, 1005, 1006, 1012, 1013, 1014]);

function stateAfter(code: number, tokens: Tokens): Status['state'] {
  if (code === 1000) return 'idle';
  if (code === rejected && !tokens.mayHaveAnother) return 'rejected';
  if (fatal.has(code) || (code < 2000 && !transient.has(code))) return 'failed';
  return isOffline() ? 'offline' : 'reconnecting';
}

function codeOf(problem: unknown): unknown {
  return (problem as { code?: unknown } | null)?.code;
}

// reasonOf returns the reason of a close event, without the protocol's name of its code.
function reasonOf(event: unknown): string {
  return String((event as CloseEvent).reason).replace(/^Forbidden: /, '');
}

function absolute(url: string): string {
  return new URL(url, globalThis.location?.href).href.replace(/^http/, 'ws');
}

// pause waits for a time, or until the machine is online again if that is earlier.
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      globalThis.removeEventListener?.('online', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    globalThis.addEventListener?.('online', end);
  });
}
