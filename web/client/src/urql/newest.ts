import { createRequest, formatDocument, type Client, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { concat, empty, filter, fromPromise, fromValue, lazy, makeSubject, map, merge, mergeMap, pipe, type Source } from 'wonka';
import { Newest, type Action, type Network } from '../newest.js';
import { eventCard, type Question } from '../operation.js';

const nothing = empty as Source<OperationResult>;

// newestExchange stands between the cache and the network, see Newest.
export const newestExchange: Exchange =
  ({ client, forward }) =>
  (operations) => {
    const questions = new Questions(client);
    const newest = new Newest(questions);
    const actions = new Map<number, Action>(); // by the key of the operation
    let lastEvent: Promise<unknown> = Promise.resolve(); // the last of the events that are passed on in order

    const sent = pipe(
      operations,
      mergeMap((operation) => {
        const action = operation.kind === 'mutation' ? newest.begin(operation) : undefined;
        if (!action) return fromValue(operation);
        actions.set(operation.key, action);
        return action.before ? fromPromise(action.before.then(() => operation)) : fromValue(operation);
      }),
    );

    const answered = (result: OperationResult, action: Action): Source<OperationResult> => {
      actions.delete(result.operation.key);
      return concat([
        fromPromise(newest.answered(action, result.data).then(() => result)),
        lazy(() => {
          newest.leave(action, result.error);
          return nothing;
        }),
      ]);
    };

    const event = (result: OperationResult): Source<OperationResult> => {
      const { operation, data } = result;
      const inOrder = !eventCard(operation, data);
      const display = (inOrder ? lastEvent : Promise.resolve()).then(() => newest.event(operation, data));
      if (inOrder) lastEvent = display;
      return pipe(
        fromPromise(display),
        filter((yes) => yes),
        map(() => result),
      );
    };

    return pipe(
      forward(merge([sent, questions.operations])),
      mergeMap((result): Source<OperationResult> => {
        if (questions.take(result)) return nothing;
        const { operation } = result;
        const action = actions.get(operation.key);
        if (action) return answered(result, action);
        if (operation.kind === 'subscription') return event(result);
        // The cache itself orders results by when they were requested.
        return fromPromise(newest.read(operation, result.data, false).then(() => result));
      }),
    );
  };

// Questions queries subjects again, bypassing the cache: the results reach the cache
// together with those that they replace.
class Questions implements Network {
  private readonly sent = makeSubject<Operation>();
  private readonly waiting = new Map<number, (data: unknown) => void>();
  private last = 0;

  constructor(private readonly client: Client) {}

  get operations(): Source<Operation> {
    return this.sent.source;
  }

  ask({ query, variables }: Question): Promise<unknown> {
    // A fractional key, which no other operation has: the keys of urql are integers.
    const request = { ...createRequest(formatDocument(query), variables), key: ++this.last + 0.5 };
    return new Promise((resolve) => {
      this.waiting.set(request.key, resolve);
      this.sent.next(this.client.createRequestOperation('query', request, { requestPolicy: 'network-only' }));
    });
  }

  // take consumes a result if it belongs to a question, and reports whether it did.
  take({ operation, data }: OperationResult): boolean {
    const answer = this.waiting.get(operation.key);
    if (!answer) return false;
    this.waiting.delete(operation.key);
    answer(data);
    return true;
  }

  reread({ query, variables }: Question): void {
    void this.client.query(query, variables, { requestPolicy: 'network-only' }).toPromise();
  }
}
