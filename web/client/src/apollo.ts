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

// Marks the link's own questions, whose answers it leaves as they are.
const asked = 'ovation.asked';

// newestLink corrects results before they are cached, see Newest. It is the first
// link of all.
export function newestLink(): ApolloLink {
  const perClient = new WeakMap<ApolloClient, Newest>();
  return new ApolloLink((operation, forward) => {
    if (operation.getContext()[asked]) return forward(operation);
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
      const context = { [asked]: true, queryDeduplication: false }; // each is to be answered anew
      try {
        return (await client.query({ query, variables, fetchPolicy: 'no-cache', context })).data;
      } catch {
        return undefined;
      }
    },
    reread({ query, variables }) {
      client.query({ query, variables, fetchPolicy: 'network-only' }).catch(() => {}); // it stays as it was
    },
  });
}

// refetchWhenLive reads active queries again when the socket becomes live: those that
// have failed, and all of them if the connection was lost. Without it, a page that is
// opened while the server is down stays empty. It returns what ends that.
export function refetchWhenLive(client: ApolloClient, socket: Live): () => void {
  return whenLive(socket, (lost) => {
    for (const query of client.getObservableQueries('active')) {
      if (query.options.fetchPolicy === 'cache-only' || !(lost || query.getCurrentResult().error)) continue;
      query.refetch().catch(() => {}); // the query has the error
    }
  });
}
