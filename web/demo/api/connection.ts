import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { connect as openSocket, type Status, type Watched } from '@ovation/client';
import { overSocket, refetchExchange } from '@ovation/client/urql';
import { viewerHeaders, viewerParams, type Viewer } from '../../viewer';
import { cache } from './cache';
import { InView } from './in-view';
import { clipsOf, profilesOf, type Clips, type Profiles } from './lookup';
import { Outbox } from './outbox';

// Connection contains everything that belongs to one viewer. For another viewer, open a
// new connection, whose cache is empty, and close this one.
export interface Connection {
  readonly viewer: Viewer;
  readonly client: Client;
  readonly status: Watched<Status>; // of the WebSocket for subscriptions
  readonly subscribed: Watched<boolean>; // whether the view has a subscription
  readonly profiles: Profiles;
  readonly clips: Clips;
  readonly outbox: Outbox;
  headers(): Record<string, string>; // which authenticate the viewer
  renew(token: string): void; // replaces the token with another one of the same user
  close(): void;
}

const endpoint = '/graphql';
const requestTimeout = 15_000; // milliseconds

// connect connects as a viewer. With renewable, renew may replace the token.
export function connect(viewer: Viewer, renewable = false): Connection {
  let now = viewer;
  const asking = viewer.token ? { token: renewable ? () => now.token : viewer.token } : { params: viewerParams(viewer) };
  const socket = openSocket({ url: endpoint, ...asking });
  const inView = new InView();
  const client = new Client({
    url: new URL(endpoint, location.href).href,
    preferGetMethod: false,
    fetch: (input, init) => fetch(input, { ...init, signal: within(requestTimeout, init?.signal) }),
    fetchOptions: () => ({ headers: { accept: 'application/graphql-response+json, application/json;q=0.9', ...viewerHeaders(now) } }),
    exchanges: [
      refetchExchange(socket, { failedOnly: true }), // a list that is read must not change below the reader
      cache(),
      subscriptionExchange({ forwardSubscription: inView.counting(overSocket(socket)) }),
      fetchExchange,
    ],
  });
  const [profiles, clips, outbox] = [profilesOf(client), clipsOf(client), new Outbox(client, socket)];
  return {
    viewer,
    client,
    status: socket.status,
    subscribed: inView.subscribed,
    profiles,
    clips,
    outbox,
    headers: () => viewerHeaders(now),
    renew: (token) => {
      now = { ...now, token };
    },
    close() {
      profiles.stop();
      clips.stop();
      outbox.close();
      void Promise.resolve(socket.dispose()).catch(() => {}); // rejects if it aborts an attempt to connect
    },
  };
}

function within(milliseconds: number, signal?: AbortSignal | null): AbortSignal {
  const timeout = AbortSignal.timeout(milliseconds);
  return signal ? AbortSignal.any([signal, timeout]) : timeout;
}
