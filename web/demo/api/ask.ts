import type { AnyVariables, Client, DocumentInput, OperationResult } from '@urql/core';
import { filter, pipe, subscribe, take } from 'wonka';

// ask queries until a response is accepted. The client repeats a query that fails, see
// refetchExchange. It returns a function that ends it.
export function ask<Data, Variables extends AnyVariables>(
  client: Client,
  document: DocumentInput<Data, Variables>,
  variables: Variables,
  accept: (result: OperationResult<Data, Variables>) => boolean,
): () => void {
  const { unsubscribe } = pipe(
    client.query<Data, Variables>(document, variables, { requestPolicy: 'network-only' }),
    filter((result) => !result.stale && accept(result)), // stale: the result before a repetition
    take(1),
    subscribe(() => {}),
  );
  return unsubscribe;
}
