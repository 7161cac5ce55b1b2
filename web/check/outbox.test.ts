/// <reference types="node" />
// What the viewer writes and does keeps its order, and nothing is lost or sent twice.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client, CombinedError } from '@urql/core';
import { Value, type Status } from '@ovation/client';
import type { Action, Does } from '../demo/api/action';
import { Outbox, type Pending, type PendingMessage } from '../demo/api/outbox';
import type { SendMessageInput } from '../demo/operations';
import { Network, settled } from './network';

class Storage {
  private readonly items = new Map<string, string>();
  getItem = (key: string) => this.items.get(key) ?? null;
  setItem = (key: string, value: string) => void this.items.set(key, value);
  removeItem = (key: string) => void this.items.delete(key);
}

// begin opens a page. With storage, it is a page that is opened again.
function begin(t: TestContext, storage = new Storage()) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.parse('2026-01-01T00:00:00Z') });
  const machine = new EventTarget();
  const navigator = { onLine: true };
  Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true });
  Object.assign(globalThis, {
    sessionStorage: storage,
    addEventListener: machine.addEventListener.bind(machine),
    removeEventListener: machine.removeEventListener.bind(machine),
  });
  const network = new Network();
  const client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [network.exchange] });
  const status = new Value<Status>({ state: 'live', reason: '' });
  const outbox = new Outbox(client, { status });
  t.after(() => outbox.close());
  const inputs = () => network.sent.map(({ variables }) => (variables as { input: SendMessageInput }).input);
  const pending = () => outbox.pending.get().map(said);
  const goOnline = async (onLine: boolean) => {
    navigator.onLine = onLine;
    machine.dispatchEvent(new Event(onLine ? 'online' : 'offline'));
    await settled();
  };
  const tick = async (milliseconds: number) => {
    t.mock.timers.tick(milliseconds);
    await settled();
  };
  return { network, outbox, inputs, pending, status, goOnline, tick, storage };
}

// said returns what is pending, and its state unless it is being sent.
function said(one: Pending): string {
  const what = one.kind === 'message' ? one.text : one.kind === 'comment' ? one.input.text : one.action.does;
  return `${what}${one.waits ? ' waits' : ''}${one.error ? ` ${one.error.graphQLErrors[0]?.extensions['code']}` : ''}`;
}

const lost = new Error('Failed to fetch');

const sent = (text: string) => ({
  sendMessage: {
    __typename: 'SendMessagePayload',
    message: { __typename: 'Message', id: `m ${text}`, text, at: '2026-01-01T00:00:00Z', from: { __typename: 'User', id: 'a', userId: 'alice' }, to: { __typename: 'User', id: 'b', userId: 'bob' } },
  },
});

test('messages are sent one after another', async (t) => {
  const { network, outbox, inputs, pending } = begin(t);
  for (const text of ['one', 'two']) outbox.send('bob', text);
  await settled();
  assert.deepEqual(inputs().map(({ to, text }) => [to, text]), [['bob', 'one']]);
  assert.deepEqual(pending(), ['one', 'two']);
  await network.answer('SendMessage', sent('one'));
  assert.deepEqual(inputs().map(({ text }) => text), ['two']);
  assert.deepEqual(pending(), ['two']);
  await network.answer('SendMessage', sent('two'));
  assert.deepEqual(pending(), []);
});

test('a message that the stream delivers before the response is not shown as pending', async (t) => {
  const { network, outbox, pending } = begin(t);
  for (const to of ['bob', 'carol']) outbox.send(to, 'hello');
  const delivered = () => (outbox.pending.get() as PendingMessage[]).map(({ to, delivered: is }) => [to, is ?? false]);
  outbox.delivered({ to: { userId: 'bob' }, text: 'something else' });
  assert.deepEqual(delivered(), [['bob', false], ['carol', false]]);
  outbox.delivered({ to: { userId: 'bob' }, text: 'hello' });
  assert.deepEqual(delivered(), [['bob', true], ['carol', false]]);

  await settled();
  await network.answer('SendMessage', 'UNAVAILABLE');
  assert.deepEqual(pending(), ['hello UNAVAILABLE', 'hello'], 'it may have been a message from another device');
  assert.deepEqual(delivered(), [['bob', false], ['carol', false]]);
  outbox.delivered({ to: { userId: 'bob' }, text: 'hello' });
  assert.deepEqual(delivered(), [['bob', false], ['carol', false]], 'what failed stays visible');
});

test('a failed message is kept, does not delay the next, and is resent with the same request id', async (t) => {
  const { network, outbox, inputs, pending } = begin(t);
  for (const text of ['one', 'two']) outbox.send('bob', text);
  await settled();
  const [{ requestId }] = inputs() as [SendMessageInput];
  assert.ok(requestId);
  await network.answer('SendMessage', 'UNAVAILABLE');
  assert.deepEqual(pending(), ['one UNAVAILABLE', 'two']);
  assert.notEqual(inputs()[0]!.requestId, requestId);
  await network.answer('SendMessage', sent('two'));

  outbox.retry(outbox.pending.get()[0]!);
  await settled();
  assert.deepEqual(pending(), ['one'], 'it is not marked as failed while it is sent');
  assert.deepEqual(inputs(), [{ to: 'bob', text: 'one', requestId }]);
  await network.answer('SendMessage', sent('one'));
  assert.deepEqual(pending(), []);
});

test('only messages that may not have arrived are resent automatically', async (t) => {
  const { network, outbox, inputs, pending } = begin(t);
  for (const text of ['refused', 'lost']) outbox.send('bob', text);
  await settled();
  await network.answer('SendMessage', 'BAD_USER_INPUT');
  await network.answer('SendMessage', 'INTERNAL');
  outbox.retryAll();
  await settled();
  assert.deepEqual(inputs().map(({ text }) => text), ['lost']);
  assert.deepEqual(pending(), ['refused BAD_USER_INPUT', 'lost']);
  outbox.discard(outbox.pending.get()[0]!);
  assert.deepEqual(pending(), ['lost']);
});

test('what is written offline waits, is sent in order when the machine is online again, and once', async (t) => {
  const { network, outbox, inputs, pending, goOnline, status } = begin(t);
  await goOnline(false);
  for (const text of ['one', 'two']) outbox.send('bob', text);
  outbox.comment({ biz: 'video', bizId: '1', text: 'three', requestId: 'c3' });
  await settled();
  assert.deepEqual([inputs(), pending()], [[], ['one waits', 'two waits', 'three waits']]);
  await goOnline(true);
  status.set({ state: 'reconnecting', reason: '' });
  status.set({ state: 'live', reason: '' });
  await settled();
  assert.deepEqual(inputs().map(({ text }) => text), ['one'], 'one after another');
  await network.answer('SendMessage', sent('one'));
  await network.answer('SendMessage', sent('two'));
  assert.deepEqual(inputs(), [{ biz: 'video', bizId: '1', text: 'three', requestId: 'c3' }] as unknown);
  await network.answer('AddComment', { addComment: { __typename: 'AddCommentPayload' } });
  assert.deepEqual([pending(), network.sent], [[], []]);
});

test('a message without a response is sent again with its request id, after growing pauses', async (t) => {
  const { network, outbox, inputs, pending, tick } = begin(t);
  for (const text of ['one', 'two']) outbox.send('bob', text);
  await settled();
  const { requestId } = inputs()[0]!;
  const times: number[] = [];
  for (let second = 0; second < 20; second++) {
    if (network.sent.length > 0) {
      times.push(second);
      await network.answer('SendMessage', lost);
    }
    assert.deepEqual(pending(), ['one waits', 'two waits'], 'the second one does not overtake it');
    await tick(1_000);
  }
  assert.ok(times.length >= 3 && times.length <= 6, `${times}`);
  await tick(30_000);
  assert.deepEqual(inputs(), [{ to: 'bob', text: 'one', requestId }]);
});

test('the server says when to send a message again', async (t) => {
  const { network, outbox, inputs, tick, status } = begin(t);
  outbox.send('bob', 'one');
  await settled();
  await network.answer('SendMessage', { code: 'RATE_LIMITED', retryAfter: 9 });
  status.set({ state: 'reconnecting', reason: '' });
  status.set({ state: 'live', reason: '' });
  await tick(8_900);
  assert.deepEqual(inputs(), []);
  await tick(1_200);
  assert.equal(inputs().length, 1);
});

test('a reload keeps what is pending, for its user only', async (t) => {
  const first = begin(t);
  first.outbox.open('alice');
  await first.goOnline(false);
  first.outbox.send('bob', 'one');
  first.outbox.act(act('like'));
  await settled();
  first.outbox.close();

  const other = begin(t, first.storage);
  other.outbox.open('carol');
  assert.deepEqual(other.pending(), []);
  other.outbox.close();

  const again = begin(t, first.storage);
  again.outbox.open('alice');
  await settled();
  assert.deepEqual(again.pending(), ['one', 'like']);
  const [before] = first.outbox.pending.get();
  assert.equal(again.inputs()[0]!.requestId, before!.requestId);
  await again.network.answer('SendMessage', sent('one'));
  await again.network.answer('Like', { like: { __typename: 'LikePayload' } });
  again.outbox.close();

  const last = begin(t, first.storage);
  last.outbox.open('alice');
  assert.deepEqual(last.pending(), []);
});

test('a reload does not forget why a message was rejected', async (t) => {
  const first = begin(t);
  first.outbox.open('alice');
  first.outbox.send('bob', 'one');
  await settled();
  await first.network.answer('SendMessage', 'BAD_USER_INPUT');
  const again = begin(t, first.storage);
  again.outbox.open('alice');
  await settled();
  assert.deepEqual([again.pending(), again.network.sent], [['one BAD_USER_INPUT'], []]);
});

test('what may have been sent is not sent again by itself after the server has forgotten its request id', async (t) => {
  const { network, outbox, pending, inputs, goOnline, tick } = begin(t);
  outbox.send('bob', 'tried');
  await settled();
  await goOnline(false);
  await network.answer('SendMessage', lost);
  outbox.send('bob', 'never tried');
  await tick(24 * 3_600_000);
  await goOnline(true);
  assert.deepEqual(inputs().map(({ text }) => text), ['never tried']);
  assert.deepEqual(pending(), ['tried EXPIRED', 'never tried']);
});

const act = (does: Does, bizId = '1'): Action => ({ does, biz: 'video', bizId, title: 'Dusk' });

test('ten toggles offline are at most two requests, with the same effect', async (t) => {
  const { network, outbox, pending, goOnline } = begin(t);
  await goOnline(false);
  for (let n = 0; n < 5; n++) {
    outbox.act(act('like'));
    outbox.act(act('unlike'));
  }
  outbox.act(act('unlike'));
  for (const does of ['follow', 'unfollow', 'follow', 'collect', 'uncollect'] as const) outbox.act(act(does));
  outbox.act(act('dislike', '2'));
  outbox.act(act('like', '2'));
  assert.deepEqual(pending(), ['like waits', 'unlike waits', 'follow waits', 'uncollect waits', 'like waits']);
  assert.deepEqual([outbox.holds(act('like')), outbox.holds(act('like', '3'))], [true, true]);
  await goOnline(true);
  for (const name of ['Like', 'Unlike', 'Follow', 'Uncollect', 'Like']) await network.answer(name, { a: { __typename: 'Payload' } });
  assert.deepEqual([pending(), network.sent, outbox.holds(act('like'))], [[], [], false]);
});

test('an action that waits and is rejected says so', async (t) => {
  const { network, outbox, pending } = begin(t);
  outbox.act(act('like'), new CombinedError({ networkError: lost }));
  assert.deepEqual([pending(), network.sent], [['like waits'], []], 'it is not sent again at once');
  outbox.retryAll();
  await settled();
  await network.answer('Like', 'NOT_FOUND');
  assert.deepEqual(pending(), ['like NOT_FOUND']);
});
