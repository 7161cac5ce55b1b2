/// <reference types="node" />
// The viewer's messages keep their order, and none is lost or sent twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@urql/core';
import { outboxOf } from '../demo/api/outbox';
import type { SendMessageInput } from '../demo/operations';
import { Network, settled } from './network';

function begin() {
  const network = new Network();
  const client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [network.exchange] });
  const outbox = outboxOf(client);
  const inputs = () => network.sent.map(({ variables }) => (variables as { input: SendMessageInput }).input);
  const pending = () => outbox.pending.get().map(({ text, error }) => `${text}${error ? ` ${error.graphQLErrors[0]?.extensions['code']}` : ''}`);
  return { network, outbox, inputs, pending };
}

const sent = (text: string) => ({
  sendMessage: {
    __typename: 'SendMessagePayload',
    message: { __typename: 'Message', id: `m ${text}`, text, at: '2026-01-01T00:00:00Z', from: { __typename: 'User', id: 'a', userId: 'alice' }, to: { __typename: 'User', id: 'b', userId: 'bob' } },
  },
});

test('messages are sent one after another', async () => {
  const { network, outbox, inputs, pending } = begin();
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

test('a message that the stream delivers before the response is not shown as pending', async () => {
  const { network, outbox, pending } = begin();
  for (const to of ['bob', 'carol']) outbox.send(to, 'hello');
  const delivered = () => outbox.pending.get().map(({ to, delivered: is }) => [to, is ?? false]);
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

test('a failed message is kept, does not delay the next, and is resent with the same request id', async () => {
  const { network, outbox, inputs, pending } = begin();
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

test('only messages that may not have arrived are resent automatically', async () => {
  const { network, outbox, inputs, pending } = begin();
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
