/// <reference types="node" />
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unconfirmed } from '../src/failure';
import { withFolder, withFollow, withReaction } from '../src/optimistic';
import { cardOf, type Card } from './operations';

test('a reaction replaces the other one', () => {
  const liked = withReaction(cardOf(1, 10), 'LIKE');
  const disliked = withReaction(liked, 'DISLIKE');
  const neither = withReaction(disliked, null);
  const seen = ({ likeCount, dislikeCount, liked: mine }: Card) => [likeCount, dislikeCount, mine?.reaction ?? null];
  assert.deepEqual([liked, disliked, neither].map(seen), [[11, 0, 'LIKE'], [10, 1, 'DISLIKE'], [10, 0, null]]);
  assert.deepEqual(seen(withReaction(liked, 'LIKE')), [11, 0, 'LIKE'], 'the same again changes nothing');
});

test('moving to another folder counts once', () => {
  const inOne = withFolder(cardOf(1, 0), { id: 'f1', name: 'One' });
  const inOther = withFolder(inOne, { id: 'f2', name: 'Two' });
  assert.deepEqual([inOne, inOther, withFolder(inOther, null)].map((card) => card.collectCount), [1, 1, 0]);
});

test('a follow counts once', () => {
  const followed = withFollow(cardOf(1, 0), true);
  assert.deepEqual([followed, withFollow(followed, true), withFollow(followed, false)].map((card) => card.followerCount), [1, 1, 0]);
});

test('counts that were not selected are not added', () => {
  const card = { biz: 'video', bizId: '1', version: 1, liked: null };
  assert.deepEqual(Object.keys(withReaction(card, 'LIKE')).sort(), ['biz', 'bizId', 'liked', 'version']);
});

test('a mutation that the service rejects was not executed; after other errors it may have been', () => {
  const failure = (code?: string) => ({ message: 'no', ...(code && { extensions: { code } }) });
  for (const of of [
    (code?: string) => ({ graphQLErrors: [failure(code)] }), // urql
    (code?: string) => ({ errors: [failure(code)] }), // Apollo Client
    (code?: string) => [failure(code)], // graphql-ws
  ]) {
    for (const code of ['UNAUTHENTICATED', 'RATE_LIMITED', 'LIMIT_EXCEEDED', 'NOT_FOUND', 'BAD_USER_INPUT']) assert.equal(unconfirmed(of(code)), false, code);
    for (const code of ['UNAVAILABLE', 'INTERNAL', undefined]) assert.equal(unconfirmed(of(code)), true, code);
  }
  assert.equal(unconfirmed({ networkError: new Error('no answer'), graphQLErrors: [] }), true);
  assert.equal(unconfirmed(new Error('no answer')), true);
});
