import { makeOperation, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { filter, map, pipe, share } from 'wonka';

// distinct gives a cache a key of its own for operations that share one in urql.
//
// Identical mutations: like, unlike and like again sends two identical ones. The cache
// would take the response to the first for that to the second.
//
// The events of a subscription: the cache writes the results of one key to one layer. While
// a query waits for its response, an event would be written to the layer of the event
// before it, below later responses, and would not show if those changed the same
// fields.
export const distinct =
  (cache: Exchange): Exchange =>
  (input) => {
    const originals = new Map<number, Operation>();
    let next = -1; // urql's keys are hashes, which are never negative

    const rename = (operation: Operation): Operation => {
      const own = makeOperation(operation.kind, { ...operation, key: next-- }, operation.context);
      originals.set(own.key, operation);
      return own;
    };
    const restore = (result: OperationResult): OperationResult => {
      const operation = originals.get(result.operation.key);
      if (!operation) return result;
      originals.delete(result.operation.key);
      return { ...result, operation };
    };

    const cached = cache({
      ...input,
      forward: (operations) =>
        pipe(
          input.forward(operations),
          map((result) => (result.operation.kind === 'subscription' ? { ...result, operation: rename(result.operation) } : result)),
          share, // the cache subscribes twice
        ),
    });
    return (operations) =>
      pipe(
        operations,
        // A mutation cannot be cancelled once it is sent.
        filter((operation) => operation.kind !== 'teardown' || !operation.context['_instance']),
        map((operation) => (operation.kind === 'mutation' ? rename(operation) : operation)),
        cached,
        map(restore),
      );
  };
