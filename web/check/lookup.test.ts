/// <reference types="node" />
// Profiles and clips that lists lack are looked up in batches.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from '@urql/core';
import { Value, type Status } from '@ovation/client';
import { refetchExchange } from '@ovation/client/urql';
import { clipsOf, profilesOf } from '../demo/api/lookup';
import { Network, settled } from './network';

function begin(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const socket = { status: new Value<Status>({ state: 'live', reason: '' }) };
  const network = new Network();
  const client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [refetchExchange(socket), network.exchange] });
  const tick = async (milliseconds: number) => {
    t.mock.timers.tick(milliseconds);
    await settled();
  };
  return { network, client, tick };
}

const profile = (name: string) => ({ __typename: 'Profile' as const, name, avatarUrl: null, signature: '' });
const user = (userId: string) => ({ __typename: 'User', id: `u${userId}`, userId, profile: profile(`name ${userId}`) });

test('many keys share one request, and each is requested once', async (t) => {
  const { network, client, tick } = begin(t);
  const profiles = profilesOf(client);
  const values = ['1', '2', '1'].map((key) => profiles.of(key));
  assert.deepEqual(values.map((value) => value.get()), [undefined, undefined, undefined]);
  await tick(10);
  assert.equal(network.sent.length, 1);
  assert.deepEqual(network.sent[0]!.variables, { userId0: '1', userId1: '2' });
  await network.answer('Lookup', { a0: user('1'), a1: { ...user('2'), profile: null } });
  assert.deepEqual(values.map((value) => value.get()), [profile('name 1'), null, profile('name 1')]);
  profiles.of('2');
  await tick(60_000);
  assert.equal(network.sent.length, 0);
});

test('a request contains at most 20 keys', async (t) => {
  const { network, client, tick } = begin(t);
  const profiles = profilesOf(client);
  const keys = Array.from({ length: 45 }, (_, n) => String(n));
  for (const key of keys) profiles.of(key);
  for (let n = 0; n < 3; n++) await tick(10);
  assert.deepEqual(network.sent.map(({ variables }) => Object.keys(variables as object).length), [20, 20, 5]);
  assert.deepEqual(network.sent.flatMap(({ variables }) => Object.values(variables as object)).toSorted(), keys.toSorted());
});

test('values known from other queries are not requested, and are reported', async (t) => {
  const { network, client, tick } = begin(t);
  const profiles = profilesOf(client);
  const told: unknown[] = [];
  const value = profiles.of('1');
  value.watch(() => told.push(value.get()));
  profiles.learn('1', profile('saved'));
  profiles.learn('2', profile('other'));
  await tick(10);
  assert.equal(network.sent.length, 0);
  assert.deepEqual(told, [profile('saved')]);
  assert.deepEqual(profiles.of('2').get(), profile('other'));
});

test('failed lookups are retried', async (t) => {
  const { network, client, tick } = begin(t);
  const clips = clipsOf(client);
  const [there, deleted] = [clips.of('8'), clips.of('9')];
  await tick(10);
  await network.answer('Lookup', 'UNAVAILABLE');
  assert.equal(there.get(), undefined);
  await tick(900);
  assert.equal(network.sent.length, 0);
  await tick(1_100);
  assert.deepEqual(network.sent[0]!.variables, { videoId0: '8', videoId1: '9' });
  await network.answer('Lookup', { a0: { __typename: 'Video', id: 'v8', videoId: '8', title: 'Dusk', coverUrl: '/8.jpg' }, a1: null });
  assert.equal(there.get()?.title, 'Dusk');
  assert.equal(deleted.get(), null);
});
