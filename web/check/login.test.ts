/// <reference types="node" />
// A login is renewed before it expires, by this tab or another, and its end is reported once.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from '@urql/core';
import { Value, type Status } from '@ovation/client';
import { keepLogin } from '../demo/login';
import { recallLogin, rememberLogin, type Login } from '../demo/remembered';
import { Network, settled } from './network';

const begun = Date.parse('2026-01-01T00:00:00Z');
const life = 1_000_000; // milliseconds
const first: Login = { token: 'first', since: begun, until: begun + life, userId: '7' };

class Storage {
  private readonly items = new Map<string, string>();
  getItem = (key: string) => this.items.get(key) ?? null;
  setItem = (key: string, value: string) => void this.items.set(key, value);
  removeItem = (key: string) => void this.items.delete(key);
}

function begin(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: begun });
  const page = new EventTarget();
  const document = Object.assign(new EventTarget(), { hidden: false });
  Object.assign(globalThis, {
    localStorage: new Storage(),
    sessionStorage: new Storage(),
    document,
    addEventListener: page.addEventListener.bind(page),
    removeEventListener: page.removeEventListener.bind(page),
  });
  const network = new Network();
  const client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [network.exchange] });
  const status = new Value<Status>({ state: 'live', reason: '' });
  const [used, over]: [string[], string[]] = [[], []];
  rememberLogin(first);
  const stop = keepLogin({ client, status, renew: (token) => void used.push(token) }, first, (why) => void over.push(why));
  const tick = async (milliseconds: number) => {
    t.mock.timers.tick(milliseconds);
    await settled();
  };
  const otherTab = (login: Login | undefined) => {
    if (login) rememberLogin(login);
    else localStorage.removeItem('ovation:demo:login');
    page.dispatchEvent(Object.assign(new Event('storage'), { key: 'ovation:demo:login' }));
  };
  const answer = (token: string) =>
    network.answer('RefreshToken', {
      refreshToken: { __typename: 'SessionPayload', token, expiresAt: new Date(Date.now() + life).toISOString(), user: { __typename: 'User', id: 'u7', userId: '7', profile: null } },
    });
  return { network, status, used, over, stop, tick, otherTab, answer, document };
}

test('a token is renewed at three quarters of its lifetime, repeatedly', async (t) => {
  const { network, used, over, tick, answer } = begin(t);
  await tick(0.75 * life - 1);
  assert.deepEqual(network.names(), []);
  for (const token of ['second', 'third']) {
    await tick(0.75 * life);
    assert.deepEqual(network.names(), ['RefreshToken']);
    await answer(token);
    assert.equal(used.at(-1), token);
    assert.equal(recallLogin()?.token, token);
    assert.equal(recallLogin()?.until, Date.now() + life);
  }
  assert.deepEqual(over, []);
});

test('a renewal is retried while the server is unavailable', async (t) => {
  const { network, used, over, tick, answer } = begin(t);
  await tick(0.75 * life);
  await network.answer('RefreshToken', 'UNAVAILABLE');
  await tick(19_999);
  assert.deepEqual(network.names(), []);
  await tick(1);
  await answer('second');
  assert.deepEqual(used, ['second']);
  assert.deepEqual(over, []);
});

test('the end of a session is reported once', async (t) => {
  const { network, status, over, tick } = begin(t);
  await tick(0.75 * life);
  await network.answer('RefreshToken', 'UNAUTHENTICATED');
  status.set({ state: 'rejected', reason: 'expired' });
  assert.deepEqual(over, ['Your session has ended.']);
  await tick(life);
  assert.deepEqual(network.names(), []);
});

test('a socket that is rejected ends the session', async (t) => {
  const { status, over } = begin(t);
  status.set({ state: 'reconnecting', reason: '' });
  assert.deepEqual(over, []);
  status.set({ state: 'rejected', reason: 'revoked' });
  assert.deepEqual(over, ['Your session has ended.']);
});

test('a token that another tab has renewed is used', async (t) => {
  const { network, used, over, tick, otherTab, answer } = begin(t);
  await tick(life / 2);
  otherTab({ ...first, token: 'other', since: Date.now(), until: Date.now() + life });
  assert.deepEqual(used, ['other']);
  await tick(life / 2);
  assert.deepEqual(network.names(), [], 'it is renewed twice');
  await tick(life / 4);
  await answer('second');
  assert.deepEqual(used, ['other', 'second']);
  assert.deepEqual(over, []);
});

test('logging out in another tab ends the session', async (t) => {
  const { over, otherTab } = begin(t);
  otherTab(undefined);
  assert.deepEqual(over, ['You logged out in another tab.']);
});

test("another user's login in another tab ends the session", async (t) => {
  const { used, over, otherTab } = begin(t);
  otherTab({ ...first, userId: '8', token: 'of another', until: first.until + 1 });
  assert.deepEqual(used, []);
  assert.deepEqual(over, ['You logged out in another tab.']);
  assert.equal(recallLogin()?.userId, '8', 'the login of the other tab is forgotten');
});

test('nothing is renewed after the end', async (t) => {
  const { network, used, over, stop, tick, otherTab, answer } = begin(t);
  await tick(0.75 * life);
  stop();
  await answer('late');
  otherTab(undefined);
  await tick(life);
  assert.deepEqual([network.names(), used, over], [[], [], []]);
});

test('a session that is rejected is forgotten', async (t) => {
  const { status, over } = begin(t);
  status.set({ state: 'rejected', reason: 'revoked' });
  assert.deepEqual(over, ['Your session has ended.']);
  assert.equal(recallLogin(), undefined);
});

test('a rejected session leaves a newer login in place', async (t) => {
  const { status, over } = begin(t);
  rememberLogin({ ...first, token: 'newer' });
  status.set({ state: 'rejected', reason: 'revoked' });
  assert.deepEqual(over, ['Your session has ended.']);
  assert.equal(recallLogin()?.token, 'newer');
});

test('with a clock ahead of the token, it is renewed at most once a second', async (t) => {
  const { network, tick, answer } = begin(t);
  await tick(0.75 * life);
  network.names();
  await tick(10 * life); // there is no response, and the clock advances
  for (let n = 0; n < 3; n++) {
    await network.answer('RefreshToken', {
      refreshToken: { __typename: 'SessionPayload', token: `t${n}`, expiresAt: new Date(begun + life).toISOString(), user: { __typename: 'User', id: 'u7', userId: '7', profile: null } },
    });
    await tick(999);
    assert.deepEqual(network.names(), []);
    await tick(1);
    assert.deepEqual(network.names(), ['RefreshToken']);
  }
  await answer('last');
});
