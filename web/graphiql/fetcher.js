import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { createClient } from 'graphql-ws';
import { viewerHeaders, viewerParams } from '../viewer.ts';

// newFetcher sends operations to url in the name of whoever viewer() returns.
// What someone typed into GraphiQL's own headers wins, but for subscriptions:
// they go over a WebSocket, which is open while one runs.
export function newFetcher(url, viewer) {
  const socket = createClient({
    url: new URL(url, location.href.replace(/^http/, 'ws')).href,
    connectionParams: () => viewerParams(viewer()),
    shouldRetry: (event) => event instanceof CloseEvent && event.code !== 4403, // the same token would be refused again
  });
  const fetcher = createGraphiQLFetcher({
    url,
    enableIncrementalDelivery: false,
    wsClient: { subscribe: (operation, sink) => socket.subscribe(operation, { ...sink, error: (error) => showAndEnd(sink, error) }) },
    fetch: (input, init) => send(input, { ...init, headers: { ...accept, ...viewerHeaders(viewer()), ...init.headers } }),
  });
  return (operation, options) => fetcher({ ...operation, variables: fill(operation.variables) }, options);
}

const accept = { accept: 'application/graphql-response+json, application/json;q=0.9' };

// fill puts the time for {{time}} in the values of variables, so that an
// operation that must not repeat a name can be run again and again.
export function fill(value) {
  if (typeof value === 'string') return value.replaceAll('{{time}}', () => new Date().toISOString().slice(11, 23));
  if (Array.isArray(value)) return value.map(fill);
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one)]));
  return value;
}

// showAndEnd shows why a subscription ended as its last result. The toolkit would
// leave an error of the sink unhandled besides showing it.
function showAndEnd(sink, error) {
  sink.next({ errors: Array.isArray(error) ? error : [readable(error)] });
  sink.complete();
}

function readable(error) {
  if (!(error instanceof CloseEvent)) return { message: error.message };
  const why = error.reason || (error.code === 1006 ? 'the server cannot be reached' : 'it gave no reason');
  return { message: `The server closed the WebSocket with ${error.code}: ${why}`, extensions: { closeCode: error.code } };
}

// send is fetch with errors that a person can act on: the toolkit parses
// every answer as JSON, also that of a proxy whose server is down.
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

// whoAmI asks the server who the viewer is. It returns { userId }, null for an
// anonymous viewer, or { refused }, why the name or the token is not accepted.
// It throws where the server does not answer.
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
