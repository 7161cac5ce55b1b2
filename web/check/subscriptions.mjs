// Watches a subject with npm's graphql-ws and graphql-sse, as a user and as an anonymous
// viewer, and once with urql, by Server-Sent Events.
//
//   node check/subscriptions.mjs URL BIZ BIZ_ID USER
//
// The server must be `ovation dev --dev-headers`. First, each client sends a query. Then it
// prints a line of JSON for each of its events: {"client", "is", …}, where "is" is "query",
// "connected", "next" (with "likeCount" and "liked"; for urql "first"), "complete" or
// "error". It continues, even while the server is down, until its input ends.
import { Client as Urql, fetchExchange } from '@urql/core';
import { createClient as createSSE } from 'graphql-sse';
import { createClient as createWS } from 'graphql-ws';
import WebSocket from 'ws';

const [url, biz, bizId, user] = process.argv.slice(2);
if (!user || !URL.canParse(url)) {
  console.error('usage: node check/subscriptions.mjs URL BIZ BIZ_ID USER, for example http://127.0.0.1:8080/graphql video 1 alice');
  process.exit(2);
}

const query = `subscription Watch($subjects: [SubjectInput!]!) {
  interactiveChanged(subjects: $subjects) { id likeCount version liked { reaction } }
}`;
const patience = { retryAttempts: Number.POSITIVE_INFINITY };
const soon = () => new Promise((again) => setTimeout(again, 100));

for (const [who, headers] of [['user', { 'X-Ovation-User': user }], ['nobody', {}]]) {
  const ws = `ws-${who}`;
  follow(ws, createWS({
    url: url.replace(/^http/, 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: headers,
    keepAlive: 1_000,
    retryWait: soon,
    shouldRetry: () => true, // outside of browsers, a refused connection causes no close event
    on: { connected: () => say(ws, 'connected') },
    ...patience,
  }));
  const sse = `sse-${who}`;
  follow(sse, createSSE({
    url,
    headers,
    retry: soon,
    on: { connected: () => say(sse, 'connected') },
    ...patience,
  }));
}
process.stdin.on('end', () => process.exit(0)).resume();

// urql does not reconnect by itself.
const urql = new Urql({ url, exchanges: [fetchExchange], preferGetMethod: false, fetchSubscriptions: true, fetchOptions: { headers: { 'X-Ovation-User': user } } });
const first = await urql.subscription(query, { subjects: [{ biz, bizId }] }).toPromise();
say('urql', first.error ? 'error' : 'first', { likeCount: first.data?.interactiveChanged.likeCount, message: first.error?.message });

async function follow(name, client) {
  try {
    for await (const { data, errors } of client.iterate({ query: '{ viewer { userId } }' })) {
      say(name, 'query', { viewer: data?.viewer, errors });
    }
  } catch (error) {
    say(name, 'error', { message: String(error?.message ?? error?.reason ?? error) });
  }
  client.subscribe(
    { query, variables: { subjects: [{ biz, bizId }] } },
    {
      next: ({ data, errors }) => say(name, 'next', { likeCount: data?.interactiveChanged.likeCount, liked: data?.interactiveChanged.liked?.reaction, errors }),
      complete: () => say(name, 'complete'),
      error: (error) => say(name, 'error', { message: String(error?.message ?? error?.reason ?? JSON.stringify(error)) }),
    },
  );
}

function say(client, is, more) {
  console.log(JSON.stringify({ client, is, ...more }));
}
