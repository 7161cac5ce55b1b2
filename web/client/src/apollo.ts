import { ApolloLink, Observable, type ApolloClient, type TypePolicies } from '@apollo/client';
import { Newest } from './newest.js';
import { run, type Sink } from './run.js';
import { embedded, nodes } from './schema.js';
import { whenLive, type Live } from './when-live.js';

// typePolicies are for Apollo's InMemoryCache. A type that has an id is identified
// by it: an operation that does not select the id fails, instead of silently
// storing a second copy that no event updates.
export const typePolicies: TypePolicies = {
  ...Object.fromEntries(nodes.map((type) => [type, { keyFields: ['id'] }])),
  ...Object.fromEntries(embedded.filter((type) => !/(Connection|Edge)$/.test(type)).map((type) => [type, { merge: true }])),
};

// ownQuery marks the link's own queries, whose results it does not correct.
const ownQuery = 'ovation.ownQuery';

// newestLink corrects results before they are cached, see Newest. It must be the first
// link of the chain.
export function newestLink(): ApolloLink {
  const perClient = new WeakMap<ApolloClient, Newest>();
  return new ApolloLink((operation, forward) => {
    if (operation.getContext()[ownQuery]) return forward(operation);
    const { client } = operation;
    const newest = perClient.get(client) ?? newestOf(client);
    perClient.set(client, newest);
    return new Observable<ApolloLink.Result>((observer) =>
      run<ApolloLink.Result>(
        newest,
        operation,
        (sink: Sink<ApolloLink.Result>) => {
          const sent = forward(operation).subscribe(sink);
          return () => sent.unsubscribe();
        },
        observer,
      ),
    );
  });
}

function newestOf(client: ApolloClient): Newest {
  return new Newest({
    async ask({ query, variables }) {
      const context = { [ownQuery]: true, queryDeduplication: false }; // every query must reach the server
      try {
        return (await client.query({ query, variables, fetchPolicy: 'no-cache', context })).data;
      } catch {
        return undefined;
      }
    },
    reread({ query, variables }) {
      client.query({ query, variables, fetchPolicy: 'network-only' }).catch(() => {}); // the subject keeps its present values
    },
  });
}

// refetchWhenLive refetches active queries when the socket becomes live: those that
// failed, and all of them if the connection was lost. Without it, a page that is
// opened while the server is unavailable stays empty. It returns a function that stops it.
export function refetchWhenLive(client: ApolloClient, socket: Live): () => void {
  return whenLive(socket, (lost) => {
    for (const query of client.getObservableQueries('active')) {
      if (query.options.fetchPolicy === 'cache-only' || !(lost || query.getCurrentResult().error)) continue;
      query.refetch().catch(() => {}); // the query reports the error
    }
  });
}
