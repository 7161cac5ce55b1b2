import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { createClient } from 'graphql-ws';
import { viewerHeaders, viewerParams } from '../viewer.ts';

// newFetcher sends operations to url in the name of whoever viewer() returns.
// What someone typed into GraphiQL's own headers wins, but for subscriptions:
// they go over a WebSocket, which is open while one runs.
export function newFetcher(url, viewer) {
  return createGraphiQLFetcher({
    url,
    enableIncrementalDelivery: false,
    wsClient: createClient({
      url: new URL(url, location.href.replace(/^http/, 'ws')).href,
      connectionParams: () => viewerParams(viewer()),
    }),
    fetch: (input, init) => send(input, { ...init, headers: { ...accept, ...viewerHeaders(viewer()), ...init.headers } }),
  });
}

const accept = { accept: 'application/graphql-response+json, application/json;q=0.9' };

// send is fetch with errors that a person can act on: the toolkit parses
// every answer as JSON, also that of a proxy whose server is gone.
async function send(input, init) {
  let response;
  try {
    response = await fetch(input, init);
  } catch (error) {
    throw new Error(`The server cannot be reached: ${error.message}`);
  }
  const type = response.headers.get('content-type') ?? '';
  if (!/[/+]json\b/.test(type)) {
    const text = (await response.text()).slice(0, 500);
    throw new Error(`The server answered ${response.status} ${response.statusText} without JSON: ${text}`);
  }
  return response;
}
