// A network for tests of the demo, on which the test gives every response.
import { makeErrorResult, makeResult, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { filter, makeSubject, pipe, subscribe } from 'wonka';

// Network keeps the operations that were sent until they have a response.
export class Network {
  readonly sent: Operation[] = [];
  private readonly answers = makeSubject<OperationResult>();

  readonly exchange: Exchange = () => (operations) => {
    pipe(
      operations,
      filter((operation) => operation.kind !== 'teardown'),
      subscribe((operation) => void this.sent.push(operation)),
    );
    return this.answers.source;
  };

  // names returns the names of the operations that wait for a response.
  names = (): string[] => this.sent.filter((one) => one.kind !== 'subscription').map(nameOf);

  // answer responds to the first operation of a name, with data, the code of an error, its
  // extensions, or an error of the network.
  async answer(name: string, data: object | string | Error): Promise<void> {
    const place = this.sent.findIndex((one) => nameOf(one) === name && one.kind !== 'subscription');
    if (place < 0) throw new Error(`nothing named ${name} was sent, but ${this.names()}`);
    const [operation] = this.sent.splice(place, 1);
    const __typename = operation!.kind === 'mutation' ? 'Mutation' : 'Query';
    const extensions = typeof data === 'string' ? { code: data } : 'code' in data ? data : undefined;
    const result = extensions ? { data: null, errors: [{ message: 'no', extensions }] } : { data: { __typename, ...(data as object) } };
    this.answers.next(data instanceof Error ? makeErrorResult(operation!, data) : makeResult(operation!, result));
    await settled();
  }

  // tell sends an event of a subscription.
  async tell(name: string, data: object): Promise<void> {
    const operation = this.sent.find((one) => one.kind === 'subscription' && nameOf(one) === name);
    if (!operation) throw new Error(`${name} is not subscribed`);
    this.answers.next(makeResult(operation, { data: { __typename: 'Subscription', ...structuredClone(data) }, hasNext: true }));
    await settled();
  }
}

// settled waits until everything in progress is done.
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function nameOf({ query }: Operation): string {
  const [definition] = query.definitions;
  return definition?.kind === 'OperationDefinition' ? (definition.name?.value ?? '') : '';
}
