import { makeOperation, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { filter, map, pipe, tap } from 'wonka';
import { Retries } from '../retries.js';
import { whenLive, type Live } from '../when-live.js';

export interface RefetchOptions {
  // Whether to leave queries that have a result as they are after an outage.
  readonly failedOnly?: boolean;
}

// refetchExchange repeats active queries that failed: when the socket becomes live, when
// the machine is online again, and otherwise after growing pauses, see Retries. After a
// lost connection it refetches all active queries. Without it, a page that is opened while
// the server is unavailable stays empty. It must be the first exchange.
export const refetchExchange =
  (socket: Live, { failedOnly = false }: RefetchOptions = {}): Exchange =>
  ({ client, forward }) => {
    const active = new Map<number, Operation>();

    const repeat = (key: number) => {
      const operation = active.get(key);
      if (operation) client.reexecuteOperation(withPolicy(operation, 'network-only'));
      else retries.done(key);
    };
    const retries = new Retries(socket, repeat);
    whenLive(socket, (lost) => {
      if (!lost || failedOnly) return;
      for (const key of [...active.keys()]) if (!retries.has(key)) repeat(key);
    });

    return (operations) =>
      pipe(
        operations,
        map((operation) => {
          const { kind, key, context } = operation;
          if (kind === 'teardown') {
            active.delete(key);
            retries.done(key);
          }
          if (kind !== 'query' || context.requestPolicy === 'cache-only') return operation;
          // A cache has the query read again after each related event. While the query
          // fails, it must not cause a request each time.
          if (context.requestPolicy === 'cache-first' && active.has(key) && retries.has(key)) return withPolicy(operation, 'cache-only');
          active.set(key, operation);
          return operation;
        }),
        forward,
        filter((result) => !isFromCacheOnly(result) || !retries.has(result.operation.key) || Boolean(result.data)),
        tap((result) => {
          const { operation, error, stale } = result;
          if (!active.has(operation.key) || stale || isFromCacheOnly(result)) return;
          if (error) retries.failed(operation.key, error);
          else retries.done(operation.key);
        }),
      );
  };

function withPolicy(operation: Operation, requestPolicy: Operation['context']['requestPolicy']): Operation {
  return makeOperation('query', operation, { ...operation.context, requestPolicy });
}

function isFromCacheOnly({ operation }: OperationResult): boolean {
  return operation.context.requestPolicy === 'cache-only';
}
