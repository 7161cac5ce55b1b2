import { makeOperation, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { filter, map, pipe, share } from 'wonka';

// distinct has a cache tell apart what urql gives one key.
//
// Mutations that are alike: to like, unlike and like again sends two that say the
// same. The cache would take the answer to the first for that to the second.
//
// The events of a subscription: what has one key has one layer of the cache. As long
// as a query is not answered, an event would be written to the layer of the one
// before, below what was answered since, and would not show where that changed the
// same.
export const distinct =
  (cache: Exchange): Exchange =>
  (input) => {
    const originals = new Map<number, Operation>();
    let next = -1; // keys are hashes, which are not negative

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
          share, // the cache listens twice
        ),
    });
    return (operations) =>
      pipe(
        operations,
        // Mutations are not taken back once they are sent.
        filter((operation) => operation.kind !== 'teardown' || !operation.context['_instance']),
        map((operation) => (operation.kind === 'mutation' ? rename(operation) : operation)),
        cached,
        map(restore),
      );
  };
