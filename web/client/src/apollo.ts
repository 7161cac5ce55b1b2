import { ApolloLink, Observable, type ApolloClient, type ObservableQuery, type TypePolicies } from '@apollo/client';
import { OperationTypeNode } from 'graphql';
import { Newest } from './newest.js';
import { Retries } from './retries.js';
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

// refetchWhenLive repeats active queries that failed: when the socket becomes live, when
// the machine is online again, and otherwise after growing pauses, see Retries. After a
// lost connection it refetches all active queries. Without it, a page that is opened while
// the server is unavailable stays empty. It returns a function that stops it.
export function refetchWhenLive(client: ApolloClient, socket: Live): () => void {
  const repeat = (wanted: (query: ObservableQuery) => boolean): number => {
    const queries = [...client.getObservableQueries('active')].filter((query) => query.options.fetchPolicy !== 'cache-only' && wanted(query));
    for (const query of queries) query.refetch().catch(() => {}); // the query reports the error
    return queries.length;
  };
  const hasFailed = (query: ObservableQuery) => query.getCurrentResult().error !== undefined;
  const retries = new Retries<string>(socket, (key) => {
    if (repeat((query) => hasFailed(query) && keyOf(query.queryName, query.variables) === key) === 0) retries.done(key);
  });
  const unwatch = whenLive(socket, (lost) => {
    if (lost) repeat((query) => !retries.has(keyOf(query.queryName, query.variables)));
  });
  const before = client.link;
  client.setLink(outcomes(retries).concat(before));
  return () => {
    unwatch();
    retries.stop();
    client.setLink(before);
  };
}

// outcomes passes everything on, and reports which queries fail.
function outcomes(retries: Retries<string>): ApolloLink {
  return new ApolloLink((operation, forward) => {
    if (operation.operationType !== OperationTypeNode.QUERY || operation.getContext()[ownQuery]) return forward(operation);
    const key = keyOf(operation.operationName, operation.variables);
    return new Observable<ApolloLink.Result>((observer) => {
      const sent = forward(operation).subscribe({
        next(result) {
          if (result.errors?.length) retries.failed(key, result);
          else retries.done(key);
          observer.next(result);
        },
        error(error) {
          retries.failed(key, error);
          observer.error(error);
        },
        complete: () => observer.complete(),
      });
      return () => sent.unsubscribe();
    });
  });
}

const keyOf = (name: string | undefined, variables: object | undefined) => `${name ?? ''} ${JSON.stringify(variables ?? {})}`;
