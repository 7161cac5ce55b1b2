/// <reference types="node" />
// Pages that were opened, or left open, while the server was unavailable are filled once
// the socket is live, and without a storm of requests, with each client.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ApolloClient, ApolloLink, InMemoryCache, Observable } from '@apollo/client';
import { Client, makeErrorResult, makeResult, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { filter, makeSubject, pipe, subscribe } from 'wonka';
import { newestLink, refetchWhenLive, typePolicies } from '../src/apollo';
import { Value, type Status } from '../src/index';
import { ovationExchange, refetchExchange } from '../src/urql';
import { cardOf, feed, live, subject, type Card } from './operations';
import { settled } from './page';

// Network connects to a server that is up or down.
class Network {
  readonly status = new Value<Status>({ state: 'connecting', reason: '' });
  up = false;
  card = cardOf(5, 10);
  requests = 0;

  be(...states: Status['state'][]): Promise<void> {
    for (const state of states) this.status.set({ state, reason: '' });
    return settled();
  }

  // data is the response to each request, undefined while the server is down.
  data(): object | undefined {
    this.requests++;
    return this.up ? { __typename: 'Query', interactives: [structuredClone(this.card)] } : undefined;
  }
}

const variables = { subjects: [subject] };

type Data = { interactives: Card[] } | undefined;

// View is a view of the feed. It records what it shows: the number of likes, or the failure.
interface View {
  readonly shown: string[];
  readonly leave: () => void;
}

function apolloView(network: Network): View {
  const link = new ApolloLink(
    () =>
      new Observable((observer) => {
        const data = network.data();
        if (!data) return observer.error(new Error('Bad Gateway'));
        observer.next({ data } as ApolloLink.Result);
        observer.complete();
      }),
  );
  const client = new ApolloClient({ cache: new InMemoryCache({ typePolicies }), link: newestLink().concat(link) });
  refetchWhenLive(client, network);
  const view = client.watchQuery({ query: feed, variables });
  const shown: string[] = [];
  const watched = view.subscribe(({ data, error, loading }) => !loading && show(shown, data as Data, error));
  return { shown, leave: () => watched.unsubscribe() };
}

function urqlView(network: Network): View {
  const answers = makeSubject<OperationResult>();
  const exchange: Exchange = () => (operations) => {
    pipe(
      operations,
      filter((operation) => operation.kind !== 'teardown'),
      subscribe((operation: Operation) => {
        const data = network.data();
        const result = data ? makeResult(operation, { data, hasNext: false } as never) : makeErrorResult(operation, new Error('Bad Gateway'));
        void Promise.resolve().then(() => answers.next(result));
      }),
    );
    return answers.source;
  };
  const client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [refetchExchange(network), ovationExchange(), exchange] });
  const shown: string[] = [];
  const watched = client.query<Data>(feed, variables).subscribe(({ data, error, stale }) => !stale && show(shown, data, error));
  return { shown, leave: () => watched.unsubscribe() };
}

function show(shown: string[], data: Data, error: unknown): void {
  const now = error ? 'failed' : String(data?.interactives[0]?.likeCount);
  if (shown.at(-1) !== now) shown.push(now);
}

// answered waits for responses while timers are those of the test.
async function answered(tick: () => void): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    tick();
  }
}

for (const [name, open] of [['urql', urqlView], ['Apollo Client', apolloView]] as const) {
  suite(name, () => {
    test('a page that is opened while the server is down is filled when the socket is live', async () => {
      const network = new Network();
      const { shown } = open(network);
      await network.be('reconnecting');
      assert.deepEqual(shown, ['failed']);
      network.up = true;
      await network.be('reconnecting', 'live');
      assert.deepEqual(shown, ['failed', '10']);
    });

    test('so is one whose socket connects at the first attempt', async () => {
      const network = new Network();
      const { shown } = open(network);
      await settled();
      network.up = true;
      await network.be('live');
      assert.deepEqual(shown, ['failed', '10']);
    });

    test('after an outage, active queries are refetched', async () => {
      const network = new Network();
      network.up = true;
      const { shown } = open(network);
      await network.be('live');
      assert.equal(network.requests, 1, 'connecting is not an outage');
      network.card = cardOf(9, 14);
      await network.be('reconnecting', 'offline', 'reconnecting', 'live');
      assert.deepEqual([shown, network.requests], [['10', '14'], 2]);
      await network.be('idle', 'connecting', 'live');
      assert.equal(network.requests, 2, 'nor is it when nothing was subscribed');
    });

    test('a query that still fails is refetched the next time', async (t) => {
      t.mock.timers.enable({ apis: ['Date'] });
      const network = new Network();
      const { shown } = open(network);
      await network.be('reconnecting', 'live');
      assert.deepEqual(shown, ['failed']);
      network.up = true;
      t.mock.timers.tick(5_000);
      await network.be('reconnecting', 'live');
      assert.deepEqual(shown, ['failed', '10']);
    });

    test('a query that fails is repeated after growing pauses, while the socket is live or not', async (t) => {
      for (const state of ['live', 'reconnecting'] as const) {
        t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
        const pass = async (seconds: number) => {
          for (let n = 0; n < seconds * 2; n++) {
            t.mock.timers.tick(500);
            await answered(() => t.mock.timers.tick(0));
          }
        };
        const network = new Network();
        network.status.set({ state, reason: '' });
        const { shown, leave } = open(network);
        await pass(20);
        assert.ok(network.requests >= 3 && network.requests <= 6, `${network.requests}`);
        assert.deepEqual(shown, ['failed']);
        network.up = true;
        await pass(31);
        assert.deepEqual(shown, ['failed', '10']);
        leave();
        t.mock.timers.reset();
      }
    });

    test('a view that was left is not refetched', async () => {
      const network = new Network();
      const { leave } = open(network);
      await settled();
      leave();
      await network.be('reconnecting', 'live');
      assert.equal(network.requests, 1);
    });
  });
}

test('urql: events about a subject do not repeat a query about it that fails', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const sent: Operation[] = [];
  const answers = makeSubject<OperationResult>();
  const exchange: Exchange = () => (operations) => {
    pipe(
      operations,
      filter((operation) => operation.kind !== 'teardown'),
      subscribe((operation: Operation) => void sent.push(operation)),
    );
    return answers.source;
  };
  const network = new Network();
  const client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [refetchExchange(network), ovationExchange(), exchange] });
  const one = /* GraphQL */ `query One($biz: String!, $bizId: ID!) { interactive(biz: $biz, bizId: $bizId) { id biz bizId version likeCount } }`;
  const more = /* GraphQL */ `query More($biz: String!, $bizId: ID!) { interactive(biz: $biz, bizId: $bizId) { id biz bizId version comments { edges { node { id } } } } }`;
  const errors: unknown[] = [];
  client.query(one, subject).subscribe(() => {});
  answers.next(makeResult(sent[0]!, { data: { __typename: 'Query', interactive: structuredClone(cardOf(5, 10)) }, hasNext: false } as never));
  await answered(() => {});
  client.query(more, subject).subscribe(({ error }) => errors.push(error));
  answers.next(makeErrorResult(sent[1]!, new Error('Bad Gateway')));
  client.subscription(live, { subjects: [subject] }).subscribe(() => {});
  await answered(() => {});
  const events = sent.find(({ kind }) => kind === 'subscription')!;
  for (let n = 0; n < 50; n++) {
    answers.next(makeResult(events, { data: { __typename: 'Subscription', interactiveChanged: structuredClone(cardOf(6 + n, 11 + n)) }, hasNext: true } as never));
    await answered(() => {});
  }
  assert.equal(sent.filter(({ kind }) => kind === 'query').length, 2);
  assert.ok(errors.at(-1), 'the error stays');
});
