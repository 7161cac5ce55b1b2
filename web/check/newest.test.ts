/// <reference types="node" />
// What newest promises, with a network whose every answer the test gives, in
// whatever order: npm run test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, CombinedError, makeErrorResult, makeResult, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { filter, makeSubject, pipe, subscribe } from 'wonka';
import { advise, unconfirmed } from '../demo/api/advice';
import { apart } from '../demo/api/apart';
import { normalisedCache } from '../demo/api/cache';
import { newest } from '../demo/api/newest';
import { FeedDocument, LikeDocument, LiveDocument, UnlikeDocument, type CardFragment, type Reaction } from '../demo/operations';

const subject = { biz: 'video', bizId: '1' };

function card(version: number, likeCount: number, reaction: Reaction | null = null): CardFragment {
  return {
    __typename: 'Interactive',
    ...subject,
    readCount: 0,
    likeCount,
    dislikeCount: 0,
    collectCount: 0,
    liked: reaction && { __typename: 'Liked', id: 'liked', reaction, at: '2026-01-01T00:00:00Z' },
    collected: null,
    version,
    freshness: 'LIVE',
  };
}

// Page is a client that shows the subject, and the network behind it.
class Page {
  readonly shown: string[] = []; // every state: how often, and whether the viewer did
  readonly sent: Operation[] = [];
  private reading = false;
  private readonly answers = makeSubject<OperationResult>();
  private readonly client: Client;

  constructor() {
    const network: Exchange = () => (operations) => {
      pipe(
        operations,
        filter((operation) => operation.kind !== 'teardown'),
        subscribe((operation) => void this.sent.push(operation)),
      );
      return this.answers.source;
    };
    this.client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [apart, normalisedCache(), newest, network] });
    this.client.query(FeedDocument, { subjects: [subject] }).subscribe(({ data }) => {
      const now = data?.interactives[0];
      const state = now && `${now.likeCount}${now.liked ? ' liked' : ''}${now.freshness === 'LIVE' ? '' : ` ${now.freshness}`}`;
      if (state && this.shown.at(-1) !== state) this.shown.push(state);
    });
    this.client.subscription(LiveDocument, { subjects: [subject] }).subscribe(() => {});
  }

  // start answers the first query.
  async start(first: CardFragment): Promise<void> {
    await this.answer('Feed', first);
  }

  click(document: typeof LikeDocument | typeof UnlikeDocument): void {
    void this.client.mutation(document as typeof LikeDocument, { input: subject }).toPromise();
  }

  // readAgain asks for the subject as a view does that is opened. None does so
  // while it still asks: urql would show no guesses then.
  readAgain(): void {
    if (this.reading) return;
    this.reading = true;
    const again = this.client.query(FeedDocument, { subjects: [subject] }, { requestPolicy: 'network-only' }).toPromise();
    void again.then(() => (this.reading = false));
  }

  like = () => this.click(LikeDocument);
  unlike = () => this.click(UnlikeDocument);

  // waiting counts the operations of a name that were sent and not answered.
  waiting(name: string): number {
    return this.sent.filter((operation) => nameOf(operation) === name).length;
  }

  // answer answers the oldest operation of a name.
  async answer(name: string, content: CardFragment | Error): Promise<void> {
    await settled();
    const place = this.sent.findIndex((operation) => nameOf(operation) === name);
    assert.notEqual(place, -1, `no ${name} was sent: ${this.sent.map(nameOf)}`);
    const [operation] = this.sent.splice(place, 1);
    this.receive(operation!, content);
    await settled();
  }

  // refuse answers the oldest operation of a name with an error of the service.
  async refuse(name: string, code: string): Promise<void> {
    await settled();
    const place = this.sent.findIndex((operation) => nameOf(operation) === name);
    const [operation] = this.sent.splice(place, 1);
    this.answers.next(makeResult(operation!, { data: null, errors: [{ message: 'no', extensions: { code } }] }));
    await settled();
  }

  // receive takes the answer to an operation.
  receive(operation: Operation, content: CardFragment | Error): void {
    const failed = content instanceof Error;
    this.answers.next(failed ? makeErrorResult(operation, content) : makeResult(operation, { data: dataOf(nameOf(operation), content) }));
  }

  // event is an event of the subscription, which stays.
  async event(content: CardFragment): Promise<void> {
    await settled();
    const operation = this.sent.find((one) => nameOf(one) === 'Live')!;
    this.answers.next(makeResult(operation, { data: { __typename: 'Subscription', interactiveChanged: structuredClone(content) }, hasNext: true }));
    await settled();
  }
}

function nameOf({ query }: Operation): string {
  const [definition] = query.definitions;
  return definition?.kind === 'OperationDefinition' ? (definition.name?.value ?? '') : '';
}

function dataOf(name: string, content: CardFragment) {
  const interactive = structuredClone(content);
  if (name === 'Feed') return { __typename: 'Query', interactives: [interactive] };
  const payload = { __typename: `${name}Payload`, changed: true, durability: 'PERSISTED', interactive };
  return { __typename: 'Mutation', [name.toLowerCase()]: payload };
}

// settled lets everything happen that waits for nothing else.
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test('events are shown, older ones are not', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  await page.event(card(7, 12));
  await page.event(card(6, 11));
  assert.deepEqual(page.shown, ['10', '12']);
});

test('an event that is older than an answer is not shown', async () => {
  const page = new Page();
  await page.start(card(8, 11, 'LIKE'));
  await page.event(card(7, 10));
  assert.deepEqual(page.shown, ['11 liked']);
});

test('counts that the server does not know any more are those of a while ago', async () => {
  const page = new Page();
  await page.start(card(8, 11));
  await page.event({ ...card(0, 0), freshness: 'UNAVAILABLE' });
  await page.event(card(8, 11));
  await page.event(card(9, 12));
  assert.deepEqual(page.shown, ['11', '11 STALE', '11', '12']);
});

test('an older answer to a query gets the newer counts', async () => {
  const page = new Page();
  await page.event(card(7, 12));
  await page.start(card(6, 11));
  assert.deepEqual(page.shown, ['12']);
});

test('a click shows at once, and its answer changes nothing', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await settled();
  assert.deepEqual(page.shown, ['10', '11 liked']);
  await page.answer('Like', card(6, 11, 'LIKE'));
  await page.event(card(6, 11, 'LIKE'));
  assert.deepEqual(page.shown, ['10', '11 liked']);
  assert.equal(page.waiting('Feed'), 0, 'nothing is asked anew');
});

test('a click that is refused is taken back', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await page.answer('Like', new Error('no'));
  assert.deepEqual(page.shown, ['10', '11 liked', '10']);
});

test('a click without an answer may have been done all the same', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await page.answer('Like', new Error('the connection broke'));
  await page.answer('Feed', card(6, 11, 'LIKE'));
  assert.deepEqual(page.shown, ['10', '11 liked', '10', '11 liked']);
});

test('a click that the service could not confirm may have been done all the same', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await page.refuse('Like', 'UNAVAILABLE');
  await page.answer('Feed', card(6, 11, 'LIKE'));
  assert.deepEqual(page.shown, ['10', '11 liked', '10', '11 liked']);
});

test('a click that the service refuses was not done, and nothing is read again', async () => {
  for (const code of ['RATE_LIMITED', 'BAD_USER_INPUT', 'UNAUTHENTICATED', 'NOT_FOUND', 'LIMIT_EXCEEDED']) {
    const page = new Page();
    await page.start(card(5, 10));
    page.like();
    await page.refuse('Like', code);
    assert.deepEqual(page.shown, ['10', '11 liked', '10']);
    assert.equal(page.waiting('Feed'), 0, code);
  }
});

test('only what is known not to be done is said not to be done', () => {
  for (const [code, is] of [['UNAVAILABLE', true], ['INTERNAL', true], [undefined, true], ['RATE_LIMITED', false], ['BAD_USER_INPUT', false]] as const) {
    const error = new CombinedError({ graphQLErrors: [{ message: 'not now', extensions: { code } }] });
    assert.equal(unconfirmed(error), is, code);
    assert.doesNotMatch(advise(error).says, /nothing was changed/i);
    assert.equal(/may have been done|not known whether/.test(advise(error).says), is, code);
  }
});

test('clicks are sent one after another', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await settled();
  page.unlike();
  await settled();
  page.like();
  await settled();
  assert.deepEqual([page.waiting('Like'), page.waiting('Unlike')], [1, 0]);
  await page.answer('Like', card(6, 11, 'LIKE'));
  assert.deepEqual([page.waiting('Like'), page.waiting('Unlike')], [0, 1]);
  await page.answer('Unlike', card(7, 10));
  await page.answer('Like', card(8, 11, 'LIKE'));
  assert.deepEqual(page.shown, ['10', '11 liked', '10', '11 liked']);
});

test('events between clicks do not show', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await page.event(card(6, 11, 'LIKE'));
  page.unlike();
  await settled();
  await page.answer('Like', card(6, 11, 'LIKE'));
  await page.event(card(6, 11, 'LIKE'));
  await page.answer('Unlike', card(7, 10));
  await page.event(card(7, 10));
  assert.deepEqual(page.shown, ['10', '11 liked', '10']);
});

test('an event from under way that does not know of the click is asked anew', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await page.event(card(9, 13)); // others, before the like
  await page.answer('Like', card(6, 11, 'LIKE'));
  await page.answer('Feed', card(10, 14, 'LIKE'));
  assert.deepEqual(page.shown, ['10', '11 liked', '14 liked']);
});

test('an answer that is behind what is shown waits for a newer one', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  await page.event(card(9, 13));
  page.like();
  await page.answer('Like', card(6, 11, 'LIKE'));
  await page.answer('Feed', card(10, 14, 'LIKE'));
  assert.deepEqual(page.shown, ['10', '13', '14 liked']);
});

test('an event from before the click that comes after its answer does not show', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await page.answer('Like', card(5, 11, 'LIKE')); // confirmed, not yet counted
  await page.event(card(6, 11)); // somebody else
  await page.event(card(7, 12)); // and another
  await page.answer('Feed', card(6, 12, 'LIKE'));
  await page.event(card(7, 12)); // once more
  await page.answer('Feed', card(7, 13, 'LIKE'));
  await page.event(card(8, 13, 'LIKE'));
  assert.deepEqual(page.shown, ['10', '11 liked', '12 liked', '13 liked']);
});

test('what the same user does elsewhere is believed once the server has confirmed it', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await page.answer('Like', card(6, 11, 'LIKE'));
  await page.event(card(7, 10)); // taken back on another device
  await page.answer('Feed', card(7, 10));
  await page.event(card(8, 11));
  assert.deepEqual(page.shown, ['10', '11 liked', '10', '11']);
});

test('a click while something is asked anew is not undone by that answer', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await page.event(card(9, 13));
  await page.answer('Like', card(6, 11, 'LIKE'));
  await settled();
  page.unlike();
  await page.answer('Feed', card(10, 14, 'LIKE'));
  await page.event(card(10, 14, 'LIKE'));
  await page.answer('Unlike', card(9, 13)); // of a node that is behind
  await page.answer('Feed', card(11, 13));
  assert.deepEqual(page.shown, ['10', '11 liked', '10', '13']);
});

test('a click while an event is doubted is not undone by what is asked', async () => {
  const page = new Page();
  await page.start(card(5, 10));
  page.like();
  await page.answer('Like', card(5, 11, 'LIKE'));
  await page.event(card(6, 11)); // from before the like: asked anew
  page.unlike();
  await page.answer('Feed', card(6, 12, 'LIKE'));
  assert.deepEqual(page.shown, ['10', '11 liked', '10']);
  await page.answer('Unlike', card(6, 11));
  assert.deepEqual(page.shown, ['10', '11 liked', '10', '11']);
});

// A server in small: what others did is in the counts, what the viewer did shows
// at once and is counted later. Whatever it tells is true when it leaves, and
// arrives whenever it does; events arrive in their order.
class Server {
  private others = 10;
  private liked = false; // what the viewer sees
  private counted = false; // what is in the counts
  private version = 5;
  readonly events: CardFragment[] = [];
  readonly answers: { operation: Operation; content: CardFragment }[] = [];

  now = () => card(this.version, this.others + Number(this.liked), this.liked ? 'LIKE' : null);

  handle(operation: Operation): void {
    if (nameOf(operation) === 'Like') this.liked = true;
    if (nameOf(operation) === 'Unlike') this.liked = false;
    this.answers.push({ operation, content: this.now() });
  }

  count(): void {
    if (this.counted === this.liked) return;
    this.counted = this.liked;
    this.tell();
  }

  somebody(): void {
    this.others++;
    this.tell();
  }

  private tell(): void {
    this.version++;
    this.events.push(this.now());
  }
}

test('whatever comes whenever, the own like never flickers, and the truth is shown in the end', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`SEED=${seed} repeats this`);
  for (let run = 0; run < Number(process.env['RUNS'] ?? 100); run++) await walk(seed + run);
});

async function walk(seed: number): Promise<void> {
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const page = new Page();
  const server = new Server();
  let wanted = false;
  await page.start(server.now());
  const steps: (() => void | Promise<void>)[] = [
    () => {
      wanted = !wanted;
      if (wanted) page.like();
      else page.unlike();
    },
    () => server.count(),
    () => server.somebody(),
    () => page.readAgain(),
    () => {
      const open = page.sent.filter((operation) => nameOf(operation) !== 'Live');
      const operation = open[random(open.length)];
      if (!operation) return;
      page.sent.splice(page.sent.indexOf(operation), 1);
      server.handle(operation);
    },
    () => {
      const [answer] = server.answers.splice(random(server.answers.length), 1);
      if (answer) page.receive(answer.operation, answer.content);
    },
    () => {
      const event = server.events.shift();
      return event && page.event(event);
    },
  ];
  const check = () => assert.equal(page.shown.at(-1)!.endsWith('liked'), wanted, `SEED=${seed}: ${page.shown}`);
  for (let step = 0; step < 60; step++) {
    await steps[random(steps.length)]!();
    await settled();
    check();
  }
  // Everything arrives.
  for (let idle = 0; idle < 8; ) {
    const before = page.sent.length + server.answers.length + server.events.length;
    for (const step of steps.slice(4)) await step();
    server.count();
    await settled();
    check();
    idle = before + page.sent.length + server.answers.length + server.events.length === 2 ? idle + 1 : 0;
  }
  const truth = server.now();
  assert.equal(page.shown.at(-1), `${truth.likeCount}${truth.liked ? ' liked' : ''}`, `SEED=${seed}: ${page.shown}`);
}
