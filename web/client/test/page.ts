// A page that shows a subject, over a network on which the test gives every response, in
// any order. There is one for each client.
import assert from 'node:assert/strict';
import { ApolloClient, ApolloLink, InMemoryCache, Observable } from '@apollo/client';
import { Client, makeErrorResult, makeResult, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { getOperationAST, type DocumentNode } from 'graphql';
import { filter, makeSubject, pipe, subscribe } from 'wonka';
import { newestLink, typePolicies } from '../src/apollo';
import { withReaction } from '../src/optimistic';
import { ovationExchange } from '../src/urql';
import { feed, like, live, subject, unlike, type Card } from './operations';

// Sent is an operation that reached the network.
export interface Sent {
  readonly name: string;
  readonly variables: Record<string, unknown>;
  answer(result: { data?: unknown; errors?: readonly object[] }): void;
  fail(error: Error): void;
}

export abstract class Page {
  readonly shown: string[] = []; // every displayed state: the count, and whether the viewer likes it
  readonly sent: Sent[] = [];
  protected current: Card | undefined;
  private reading = false;

  abstract readonly like: () => void;
  abstract readonly unlike: () => void;
  protected abstract readonly ask: () => Promise<unknown>;

  protected show(now: Card | undefined): void {
    this.current = now ?? this.current;
    const state = now && `${now.likeCount}${now.liked ? ' liked' : ''}${now.freshness === 'LIVE' ? '' : ` ${now.freshness}`}`;
    if (state && this.shown.at(-1) !== state) this.shown.push(state);
  }

  // start responds to the first query.
  async start(first: Card): Promise<void> {
    await this.answer('Feed', first);
  }

  // readAgain queries the subject as a newly opened view does. It must not be called while
  // the previous query is pending: urql would not apply optimistic results then.
  readAgain(): void {
    if (this.reading) return;
    this.reading = true;
    void this.ask().then(() => (this.reading = false));
  }

  // waiting returns how many operations of a name have no response yet.
  waiting(name: string): number {
    return this.sent.filter((one) => one.name === name).length;
  }

  // answer responds to the oldest operation of a name.
  async answer(name: string, content: Card | Error): Promise<void> {
    receive(await this.take(name), content);
    await settled();
  }

  // refuse responds to the oldest operation of a name with an error of the service.
  async refuse(name: string, code: string): Promise<void> {
    (await this.take(name)).answer({ data: null, errors: [{ message: 'no', extensions: { code } }] });
    await settled();
  }

  private async take(name: string): Promise<Sent> {
    await settled();
    const place = this.sent.findIndex((one) => one.name === name);
    assert.notEqual(place, -1, `no ${name} was sent: ${this.sent.map((one) => one.name)}`);
    return this.sent.splice(place, 1)[0]!;
  }

  // event sends an event of the subscription, which continues.
  async event(content: Card): Promise<void> {
    await settled();
    this.sent.find((one) => one.name === 'Live')!.answer({ data: { __typename: 'Subscription', interactiveChanged: structuredClone(content) } });
    await settled();
  }
}

// receive responds to an operation.
export function receive(sent: Sent, content: Card | Error): void {
  if (content instanceof Error) sent.fail(content);
  else sent.answer({ data: dataOf(sent.name, content) });
}

function dataOf(name: string, content: Card) {
  const interactive = structuredClone(content);
  if (name === 'Feed') return { __typename: 'Query', interactives: [interactive] };
  if (name === 'Subject') return { __typename: 'Query', interactive };
  const payload = { __typename: `${name}Payload`, changed: true, durability: 'PERSISTED', interactive };
  return { __typename: 'Mutation', [name.toLowerCase()]: payload };
}

// settled waits until everything is done that needs no further response.
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setTimeout(resolve, 0)); // Apollo Client notifies by a timer
  await new Promise((resolve) => setImmediate(resolve));
}

const nameOf = (query: DocumentNode) => getOperationAST(query)?.name?.value ?? '';

export class UrqlPage extends Page {
  private readonly client: Client;

  constructor() {
    super();
    const answers = makeSubject<OperationResult>();
    const network: Exchange = () => (operations) => {
      pipe(
        operations,
        filter((operation) => operation.kind !== 'teardown'),
        subscribe((operation) => void this.sent.push(sentBy(operation, answers.next))),
      );
      return answers.source;
    };
    this.client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [ovationExchange(), network] });
    this.client.query(feed, { subjects: [subject] }).subscribe(({ data }) => this.show(data?.interactives[0]));
    this.client.subscription(live, { subjects: [subject] }).subscribe(() => {});
  }

  like = () => void this.client.mutation(like, { input: subject }).toPromise();
  unlike = () => void this.client.mutation(unlike, { input: subject }).toPromise();
  protected ask = () => this.client.query(feed, { subjects: [subject] }, { requestPolicy: 'network-only' }).toPromise();
}

function sentBy(operation: Operation, next: (result: OperationResult) => void): Sent {
  return {
    name: nameOf(operation.query),
    variables: operation.variables as Record<string, unknown>,
    answer: (result) => next(makeResult(operation, { ...result, hasNext: operation.kind === 'subscription' } as never)),
    fail: (error) => next(makeErrorResult(operation, error)),
  };
}

export class ApolloPage extends Page {
  private readonly client: ApolloClient;

  constructor() {
    super();
    const network = new ApolloLink(
      (operation) =>
        new Observable((observer) => {
          const once = operation.operationType !== 'subscription';
          this.sent.push({
            name: nameOf(operation.query),
            variables: operation.variables,
            answer(result) {
              observer.next(result as ApolloLink.Result);
              if (once) observer.complete();
            },
            fail: (error) => observer.error(error),
          });
        }),
    );
    this.client = new ApolloClient({ cache: new InMemoryCache({ typePolicies }), link: newestLink().concat(network) });
    const variables = { subjects: [subject] };
    this.client
      .watchQuery<{ interactives: Card[] }>({ query: feed, variables })
      .subscribe(({ data, dataState }) => dataState === 'complete' && this.show((data as { interactives: Card[] }).interactives[0]));
    this.client.subscribe({ query: live, variables }).subscribe(() => {});
  }

  like = () => this.click(like, 'like', 'LIKE');
  unlike = () => this.click(unlike, 'unlike', null);

  private click(mutation: DocumentNode, field: string, reaction: 'LIKE' | null): void {
    const interactive = withReaction(this.current!, reaction);
    const payload = { __typename: `${field[0]!.toUpperCase()}${field.slice(1)}Payload`, changed: true, durability: 'QUEUED', interactive };
    this.client.mutate({ mutation, variables: { input: subject }, optimisticResponse: { [field]: payload } as never }).catch(() => {});
  }

  protected ask = () => this.client.query({ query: feed, variables: { subjects: [subject] }, fetchPolicy: 'network-only' }).catch(() => {});
}
