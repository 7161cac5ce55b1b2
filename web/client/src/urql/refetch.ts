import { makeOperation, type Exchange, type Operation } from '@urql/core';
import { pipe, tap } from 'wonka';
import { whenLive, type Live } from '../when-live.js';

// refetchExchange refetches active queries when the socket becomes live: those that
// failed, and all of them if the connection was lost. Without it, a page that is opened
// while the server is unavailable stays empty. It must be the first exchange.
export const refetchExchange =
  (socket: Live): Exchange =>
  ({ client, forward }) => {
    const active = new Map<number, Operation>();
    const failed = new Set<number>();

    whenLive(socket, (lost) => {
      for (const [key, operation] of [...active]) {
        if (!lost && !failed.has(key)) continue;
        client.reexecuteOperation(makeOperation('query', operation, { ...operation.context, requestPolicy: 'network-only' }));
      }
    });

    return (operations) =>
      pipe(
        operations,
        tap((operation) => {
          if (operation.kind === 'query' && operation.context.requestPolicy !== 'cache-only') {
            active.set(operation.key, operation);
          } else if (operation.kind === 'teardown') {
            active.delete(operation.key);
            failed.delete(operation.key);
          }
        }),
        forward,
        tap(({ operation, error }) => {
          if (error && active.has(operation.key)) failed.add(operation.key);
          else failed.delete(operation.key);
        }),
      );
  };
