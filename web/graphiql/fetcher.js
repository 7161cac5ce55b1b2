import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { viewerHeaders, viewerParams } from '../viewer.ts';

// newFetcher returns a fetcher that sends operations to url as the viewer that viewer()
// returns. GraphiQL's own headers take precedence, except for subscriptions: their WebSocket
// stays open while one runs.
export function newFetcher(url, viewer) {
  let socket; // a promise of the client, which is loaded for the first subscription
  const open = async () => {
    const { createClient } = await import('graphql-ws');
    return createClient({
      url: new URL(url, location.href.replace(/^http/, 'ws')).href,
      connectionParams: () => viewerParams(viewer()),
      shouldRetry: (event) => event instanceof CloseEvent && event.code !== 4403, // the same token would be rejected again
    });
  };
  const subscribe = (operation, sink) => {
    const failed = (error) => showAndEnd(sink, error);
    let ended = false;
    let end = () => {};
    socket ??= open();
    socket.then((client) => {
      if (!ended) end = client.subscribe(operation, { next: (result) => sink.next(result), complete: () => sink.complete(), error: failed });
    }, (error) => {
      socket = undefined;
      failed(error);
    });
    return () => {
      ended = true;
      end();
    };
  };
  const fetcher = createGraphiQLFetcher({
    url,
    enableIncrementalDelivery: false,
    wsClient: { subscribe },
    fetch: (input, init) => send(input, { ...init, headers: { ...accept, ...viewerHeaders(viewer()), ...init.headers } }),
  });
  return (operation, options) => fetcher({ ...operation, variables: fill(operation.variables) }, options);
}

const accept = { accept: 'application/graphql-response+json, application/json;q=0.9' };

// fill replaces {{time}} in the values of variables by the time, so that an operation that
// requires a unique name can be run repeatedly.
export function fill(value) {
  if (typeof value === 'string') return value.replaceAll('{{time}}', () => new Date().toISOString().slice(11, 23));
  if (Array.isArray(value)) return value.map(fill);
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one)]));
  return value;
}

// showAndEnd shows why a subscription failed as its last result. Otherwise the toolkit would
// show the error of the sink but leave it unhandled.
function showAndEnd(sink, error) {
  sink.next({ errors: Array.isArray(error) ? error : [readable(error)] });
  sink.complete();
}

function readable(error) {
  if (!(error instanceof CloseEvent)) return { message: error.message };
  const why = error.reason || (error.code === 1006 ? 'the server cannot be reached' : 'it gave no reason');
  return { message: `The server closed the WebSocket with ${error.code}: ${why}`, extensions: { closeCode: error.code } };
}

// send is fetch with intelligible errors: the toolkit parses every response as JSON, even
// that of a proxy whose server is down.
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

// whoAmI asks the server who the viewer is. It returns { userId }, null for an anonymous
// viewer, or { refused }, the reason why the name or the token was rejected. It throws if the
// server does not respond.
export async function whoAmI(url, viewer, signal) {
  const response = await send(url, {
    signal,
    method: 'POST',
    headers: { ...accept, 'content-type': 'application/json', ...viewerHeaders(viewer) },
    body: JSON.stringify({ query: 'query WhoAmI { viewer { userId } }', operationName: 'WhoAmI' }),
  });
  const { data, errors } = await response.json();
  if (errors) return { refused: errors[0].message };
  return { userId: data.viewer?.userId ?? null };
}
