/// <reference types="node" />
// What Newest guarantees, with each client and a network on which the test gives every
// response, in any order.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cardOf, type Card } from './operations';
import { ApolloPage, UrqlPage, receive, settled, type Page as AnyPage, type Sent } from './page';

suite('urql', () => promises(UrqlPage, 100));
suite('Apollo Client', () => promises(ApolloPage, 50));

function promises(Page: new () => AnyPage, runs: number): void {
  test('events are shown, older ones are not', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    await page.event(cardOf(7, 12));
    await page.event(cardOf(6, 11));
    assert.deepEqual(page.shown, ['10', '12']);
  });

  test('an event that is older than an answer is not shown', async () => {
    const page = new Page();
    await page.start(cardOf(8, 11, 'LIKE'));
    await page.event(cardOf(7, 10));
    assert.deepEqual(page.shown, ['11 liked']);
  });

  test('counts that become unavailable keep their last values, marked as stale', async () => {
    const page = new Page();
    await page.start(cardOf(8, 11));
    await page.event({ ...cardOf(0, 0), freshness: 'UNAVAILABLE' });
    await page.event(cardOf(8, 11));
    await page.event(cardOf(9, 12));
    assert.deepEqual(page.shown, ['11', '11 STALE', '11', '12']);
  });

  test('an older query result gets the newer counts', async () => {
    const page = new Page();
    await page.event(cardOf(7, 12));
    await page.start(cardOf(6, 11));
    assert.deepEqual(page.shown, ['12']);
  });

  test('a click shows at once, and its response changes nothing', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await settled();
    assert.deepEqual(page.shown, ['10', '11 liked']);
    await page.answer('Like', cardOf(6, 11, 'LIKE'));
    await page.event(cardOf(6, 11, 'LIKE'));
    assert.deepEqual(page.shown, ['10', '11 liked']);
    assert.equal(page.waiting('Subject'), 0, 'nothing is queried again');
  });

  test('a click that is rejected is rolled back', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await page.answer('Like', new Error('no'));
    assert.deepEqual(page.shown, ['10', '11 liked', '10']);
  });

  test('a click without a response may have been executed all the same', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await page.answer('Like', new Error('the connection broke'));
    await page.answer('Subject', cardOf(6, 11, 'LIKE'));
    assert.deepEqual(page.shown, ['10', '11 liked', '10', '11 liked']);
  });

  test('a click that the service could not confirm may have been executed all the same', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await page.refuse('Like', 'UNAVAILABLE');
    await page.answer('Subject', cardOf(6, 11, 'LIKE'));
    assert.deepEqual(page.shown, ['10', '11 liked', '10', '11 liked']);
  });

  test('a click that the service rejects was not executed, and nothing is refetched', async () => {
    for (const code of ['RATE_LIMITED', 'BAD_USER_INPUT', 'UNAUTHENTICATED', 'NOT_FOUND', 'LIMIT_EXCEEDED']) {
      const page = new Page();
      await page.start(cardOf(5, 10));
      page.like();
      await page.refuse('Like', code);
      assert.deepEqual(page.shown, ['10', '11 liked', '10']);
      assert.equal(page.waiting('Subject'), 0, code);
    }
  });

  test('clicks are sent one after another', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await settled();
    page.unlike();
    await settled();
    page.like();
    await settled();
    assert.deepEqual([page.waiting('Like'), page.waiting('Unlike')], [1, 0]);
    await page.answer('Like', cardOf(6, 11, 'LIKE'));
    assert.deepEqual([page.waiting('Like'), page.waiting('Unlike')], [0, 1]);
    await page.answer('Unlike', cardOf(7, 10));
    await page.answer('Like', cardOf(8, 11, 'LIKE'));
    assert.deepEqual(page.shown, ['10', '11 liked', '10', '11 liked']);
  });

  test('events between clicks do not show', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await page.event(cardOf(6, 11, 'LIKE'));
    page.unlike();
    await settled();
    await page.answer('Like', cardOf(6, 11, 'LIKE'));
    await page.event(cardOf(6, 11, 'LIKE'));
    await page.answer('Unlike', cardOf(7, 10));
    await page.event(cardOf(7, 10));
    assert.deepEqual(page.shown, ['10', '11 liked', '10']);
  });

  test('an event in transit that does not include the click causes another query', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await page.event(cardOf(9, 13)); // likes of others, before this one
    await page.answer('Like', cardOf(6, 11, 'LIKE'));
    await page.answer('Subject', cardOf(10, 14, 'LIKE'));
    assert.deepEqual(page.shown, ['10', '11 liked', '14 liked']);
  });

  test('a response that is older than what is shown waits for a newer one', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    await page.event(cardOf(9, 13));
    page.like();
    await page.answer('Like', cardOf(6, 11, 'LIKE'));
    await page.answer('Subject', cardOf(10, 14, 'LIKE'));
    assert.deepEqual(page.shown, ['10', '13', '14 liked']);
  });

  test('an event from before the click that arrives after its response does not show', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await page.answer('Like', cardOf(5, 11, 'LIKE')); // confirmed, not yet counted
    await page.event(cardOf(6, 11)); // another user
    await page.event(cardOf(7, 12)); // a third one
    await page.answer('Subject', cardOf(6, 12, 'LIKE'));
    await page.event(cardOf(7, 12)); // again
    await page.answer('Subject', cardOf(7, 13, 'LIKE'));
    await page.event(cardOf(8, 13, 'LIKE'));
    assert.deepEqual(page.shown, ['10', '11 liked', '12 liked', '13 liked']);
  });

  test('actions of the same user on another device are adopted once the server has confirmed them', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await page.answer('Like', cardOf(6, 11, 'LIKE'));
    await page.event(cardOf(7, 10)); // removed on another device
    await page.answer('Subject', cardOf(7, 10));
    await page.event(cardOf(8, 11));
    assert.deepEqual(page.shown, ['10', '11 liked', '10', '11']);
  });

  test('a click during another query is not undone by its result', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await page.event(cardOf(9, 13));
    await page.answer('Like', cardOf(6, 11, 'LIKE'));
    await settled();
    page.unlike();
    await page.answer('Subject', cardOf(10, 14, 'LIKE'));
    await page.event(cardOf(10, 14, 'LIKE'));
    await page.answer('Unlike', cardOf(9, 13)); // from a node that lags behind
    await page.answer('Subject', cardOf(11, 13));
    assert.deepEqual(page.shown, ['10', '11 liked', '10', '13']);
  });

  test('a click while an event is being verified is not undone by the result', async () => {
    const page = new Page();
    await page.start(cardOf(5, 10));
    page.like();
    await page.answer('Like', cardOf(5, 11, 'LIKE'));
    await page.event(cardOf(6, 11)); // older than the like: queried again
    page.unlike();
    await page.answer('Subject', cardOf(6, 12, 'LIKE'));
    assert.deepEqual(page.shown, ['10', '11 liked', '10']);
    await page.answer('Unlike', cardOf(6, 11));
    assert.deepEqual(page.shown, ['10', '11 liked', '10', '11']);
  });

  test('in any order of arrival, the own like never flickers, and the final state is correct', async (t) => {
    const seed = Number(process.env['SEED'] ?? 1);
    t.diagnostic(`SEED=${seed} repeats this`);
    for (let run = 0; run < Number(process.env['RUNS'] ?? runs); run++) await walk(new Page(), seed + run);
  });
}

// A small model of a server: the counts include the actions of others, while the viewer's
// own state shows at once and is counted later. A response is correct when it leaves and
// arrives at any time; events arrive in order.
class Server {
  private others = 10;
  private liked = false; // the viewer's state
  private counted = false; // included in the counts
  private version = 5;
  readonly events: Card[] = [];
  readonly answers: { sent: Sent; content: Card }[] = [];

  now = () => cardOf(this.version, this.others + Number(this.liked), this.liked ? 'LIKE' : null);

  handle(sent: Sent): void {
    if (sent.name === 'Like') this.liked = true;
    if (sent.name === 'Unlike') this.liked = false;
    this.answers.push({ sent, content: this.now() });
  }

  count(): void {
    if (this.counted === this.liked) return;
    this.counted = this.liked;
    this.tell();
  }

  anotherUser(): void {
    this.others++;
    this.tell();
  }

  private tell(): void {
    this.version++;
    this.events.push(this.now());
  }
}

async function walk(page: AnyPage, seed: number): Promise<void> {
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
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
    () => server.anotherUser(),
    () => page.readAgain(),
    () => {
      const open = page.sent.filter((one) => one.name !== 'Live');
      const sent = open[random(open.length)];
      if (!sent) return;
      page.sent.splice(page.sent.indexOf(sent), 1);
      server.handle(sent);
    },
    () => {
      const [answer] = server.answers.splice(random(server.answers.length), 1);
      if (answer) receive(answer.sent, answer.content);
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
  // Everything sent arrives.
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
