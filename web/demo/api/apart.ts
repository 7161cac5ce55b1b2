import { makeOperation, type Exchange, type Operation } from '@urql/core';
import { filter, map, pipe } from 'wonka';

// apart comes before the cache and tells mutations apart that are alike: to like,
// unlike and like again sends two that say the same. urql gives them one key,
// and the cache would take the answer to the first for that to the second.
export const apart: Exchange =
  ({ forward }) =>
  (operations) => {
    const originals = new Map<number, Operation>();
    let next = -1; // keys are hashes, which are not negative

    const renamed = pipe(
      operations,
      // Mutations are not taken back once they are sent.
      filter((operation) => operation.kind !== 'teardown' || !operation.context['_instance']),
      map((operation) => {
        if (operation.kind !== 'mutation') return operation;
        const own = makeOperation('mutation', { ...operation, key: next-- }, operation.context);
        originals.set(own.key, operation);
        return own;
      }),
    );
    return pipe(
      forward(renamed),
      map((result) => {
        const operation = originals.get(result.operation.key);
        if (!operation) return result;
        originals.delete(result.operation.key);
        return { ...result, operation };
      }),
    );
  };
