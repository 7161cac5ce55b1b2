/// <reference types="node" />
// What the cache does with conversations, as messages are sent and received.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@urql/core';
import { cache } from '../demo/api/cache';
import { ChatDocument, ConversationsDocument, MarkReadDocument, MessagesDocument, SendMessageDocument, ViewerDocument } from '../demo/operations';
import { Network, settled } from './network';

const user = (userId: string) => ({ __typename: 'User', id: `u ${userId}`, userId, profile: null });
const message = (number: number, from: string, to: string) => ({
  __typename: 'Message', id: `m${number}`, text: `text ${number}`, at: new Date(number * 1000).toISOString(), from: user(from), to: user(to),
});
type Message = ReturnType<typeof message>;
const conversation = (other: string, latest: Message, unread: number) => ({ __typename: 'Conversation', id: `c ${other}`, with: user(other), latest, unread });
const pageInfo = { __typename: 'PageInfo', hasNextPage: false, endCursor: null };

// begin returns the page of alice. Her latest conversation is with bob, the one before it
// with carol.
async function begin(unread = 0) {
  const network = new Network();
  const client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [cache(), network.exchange] });
  let list: string[] = [];
  let log: string[] = [];
  client.query(ViewerDocument, {}).subscribe(() => {});
  client.query(ConversationsDocument, { first: 30, after: null }).subscribe(({ data }) => {
    list = data?.conversations.edges.map(({ node }) => `${node.with.userId}: ${node.latest.text}${node.unread ? ` (${node.unread})` : ''}`) ?? list;
  });
  client.query(ChatDocument, { with: 'bob', first: 30, after: null }).subscribe(({ data }) => {
    log = data?.conversation?.messages.edges.map(({ node }) => node.text) ?? log;
  });
  client.subscription(MessagesDocument, { after: null }).subscribe(() => {});
  await settled();
  await network.answer('Viewer', { viewer: { __typename: 'User', id: 'u alice', userId: 'alice' } });
  const [bob, carol] = [conversation('bob', message(5, 'bob', 'alice'), unread), conversation('carol', message(3, 'alice', 'carol'), 0)];
  const conversations = (nodes: object[]) => ({
    conversations: { __typename: 'ConversationConnection', edges: nodes.map((node) => ({ __typename: 'ConversationEdge', node })), pageInfo, messagesCursor: 'm5' },
  });
  await network.answer('Conversations', conversations([bob, carol]));
  const edges = [5, 2].map((number) => ({ __typename: 'MessageEdge', node: message(number, 'bob', 'alice') }));
  await network.answer('Chat', { conversation: { ...bob, messages: { __typename: 'MessageConnection', edges, pageInfo } } });
  const hear = (one: Message) => network.tell('Messages', { messages: one });
  return { network, client, conversations, bob, carol, hear, list: () => list, log: () => log };
}

test('a new message is unread, and the latest', async () => {
  const { network, hear, list, log } = await begin();
  assert.deepEqual(list(), ['bob: text 5', 'carol: text 3']);
  await hear(message(6, 'carol', 'alice'));
  assert.deepEqual(list(), ['carol: text 6 (1)', 'bob: text 5']);
  await hear(message(7, 'bob', 'alice'));
  assert.deepEqual(list(), ['bob: text 7 (1)', 'carol: text 6 (1)']);
  assert.deepEqual(log(), ['text 7', 'text 5', 'text 2']);
  assert.deepEqual(network.names(), [], 'the lists are read again');
});

test('a message that arrives twice is listed once', async () => {
  const { client, network, hear, list, log } = await begin();
  const own = message(8, 'alice', 'bob');
  void client.mutation(SendMessageDocument, { input: { to: 'bob', text: own.text, requestId: 'r' } }).toPromise();
  await settled();
  await network.answer('SendMessage', { sendMessage: { __typename: 'SendMessagePayload', message: own } });
  await hear(own);
  await hear(message(9, 'carol', 'alice'));
  await hear(message(9, 'carol', 'alice'));
  assert.deepEqual(list(), ['carol: text 9 (1)', 'bob: text 8']);
  assert.deepEqual(log(), ['text 8', 'text 5', 'text 2']);
});

test('an earlier message is inserted at its position, and is not the latest', async () => {
  const { hear, list, log } = await begin();
  await hear(message(4, 'bob', 'alice'));
  assert.deepEqual(log(), ['text 5', 'text 4', 'text 2']);
  assert.deepEqual(list(), ['bob: text 5', 'carol: text 3']);
});

test('marking as read shows at once, and is rolled back if it is rejected', async () => {
  const { client, network, list } = await begin(2);
  assert.equal(list()[0], 'bob: text 5 (2)');
  void client.mutation(MarkReadDocument, { input: { with: 'bob', upTo: 'm5' } }).toPromise();
  await settled();
  assert.equal(list()[0], 'bob: text 5');
  await network.answer('MarkRead', 'UNAVAILABLE');
  assert.equal(list()[0], 'bob: text 5 (2)');
});

test('a new conversation causes the list to be refetched', async () => {
  const { network, hear, list, conversations, bob, carol } = await begin();
  const hello = message(10, 'dan', 'alice');
  await hear(hello);
  assert.deepEqual(network.names(), ['Conversations']);
  await network.answer('Conversations', conversations([conversation('dan', hello, 1), bob, carol]));
  assert.deepEqual(list(), ['dan: text 10 (1)', 'bob: text 5', 'carol: text 3']);
});

test('a known conversation that is not in the list causes it to be refetched', async () => {
  const { client, network, hear, list, conversations, bob, carol } = await begin();
  const [old, hello] = [message(1, 'dan', 'alice'), message(10, 'dan', 'alice')];
  client.query(ChatDocument, { with: 'dan', first: 30, after: null }).subscribe(() => {});
  await settled();
  const messages = { __typename: 'MessageConnection', edges: [{ __typename: 'MessageEdge', node: old }], pageInfo };
  await network.answer('Chat', { conversation: { ...conversation('dan', old, 0), messages } });
  await hear(hello);
  assert.deepEqual(network.names(), ['Conversations']);
  await network.answer('Conversations', conversations([conversation('dan', hello, 1), bob, carol]));
  assert.deepEqual(list(), ['dan: text 10 (1)', 'bob: text 5', 'carol: text 3']);
});
