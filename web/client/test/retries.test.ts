/// <reference types="node" />
// When failed requests are sent again, by the clock of the test.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { CombinedError } from '@urql/core';
import { backoff, Retries, retryAfter, transient, unreached, Value, type Status } from '../src/index';

const refused = (code: string, more = {}) => new CombinedError({ graphQLErrors: [{ message: 'no', extensions: { code, ...more } }] });
const answered = (status: number, headers = {}) =>
  new CombinedError({ networkError: new Error('Bad Gateway'), response: new Response(null, { status, headers }) });
const lost = () => new CombinedError({ networkError: new Error('Failed to fetch') });

// Page sends requests, which fail at first, and records their times.
class Page {
  readonly status = new Value<Status>({ state: 'live', reason: '' });
  readonly sent: number[] = []; // seconds
  private readonly machine = new EventTarget();
  private readonly navigator = { onLine: true };
  private readonly retries: Retries<string>;

  constructor(
    private readonly t: TestContext,
    public error: unknown = lost(),
  ) {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 });
    t.mock.method(Math, 'random', () => 1);
    Object.defineProperty(globalThis, 'navigator', { value: this.navigator, configurable: true });
    Object.assign(globalThis, {
      addEventListener: this.machine.addEventListener.bind(this.machine),
      removeEventListener: this.machine.removeEventListener.bind(this.machine),
    });
    this.retries = new Retries<string>(this, () => this.send());
    t.after(() => {
      this.retries.stop();
      for (const name of ['navigator', 'addEventListener', 'removeEventListener']) delete (globalThis as Record<string, unknown>)[name];
    });
  }

  send(): void {
    this.sent.push(Date.now() / 1_000);
    if (this.error) this.retries.failed('list', this.error);
    else this.retries.done('list');
  }

  pass(seconds: number): void {
    for (let n = 0; n < seconds * 10; n++) this.t.mock.timers.tick(100);
  }

  be(...states: Status['state'][]): void {
    for (const state of states) this.status.set({ state, reason: '' });
  }

  goOnline(onLine: boolean): void {
    this.navigator.onLine = onLine;
    this.machine.dispatchEvent(new Event(onLine ? 'online' : 'offline'));
  }
}

const failures = {
  429: refused('RATE_LIMITED', { retryAfter: 3 }),
  502: answered(502),
  503: answered(503, { 'retry-after': '1' }),
  UNAVAILABLE: refused('UNAVAILABLE'),
  aborted: lost(),
};

for (const [name, error] of Object.entries(failures)) {
  for (const state of ['live', 'reconnecting'] as const) {
    test(`${name}, socket ${state}: at most 6 requests in 20 s, and then fewer`, (t) => {
      const page = new Page(t, error);
      page.be(state);
      page.send();
      page.pass(20);
      assert.ok(page.sent.length >= 3 && page.sent.length <= 6, `${page.sent}`);
      const before = page.sent.length;
      page.pass(100);
      assert.ok(page.sent.length - before <= 4, `${page.sent}`);
    });
  }
}

test('pauses grow up to a ceiling, and half of each is random', (t) => {
  const random = t.mock.method(Math, 'random', () => 1);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 50].map((n) => backoff(n)), [2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  random.mock.mockImplementation(() => 0);
  assert.equal(backoff(1), 2_000);
});

test('while the machine is offline nothing is sent; once it is online again, one request is', (t) => {
  for (const state of ['live', 'offline'] as const) {
    const page = new Page(t);
    page.be(state);
    page.goOnline(false);
    page.send();
    page.pass(100);
    assert.equal(page.sent.length, 1);
    page.error = undefined;
    page.goOnline(true);
    assert.equal(page.sent.length, 2);
    page.pass(100);
    assert.equal(page.sent.length, 2);
    t.mock.timers.reset();
    t.mock.restoreAll();
  }
});

test('each change to live causes one request', (t) => {
  const page = new Page(t);
  page.send();
  page.be('reconnecting', 'live');
  assert.deepEqual(page.sent, [0, 0]);
  page.be('live');
  assert.equal(page.sent.length, 2);
});

test('a socket that is lost every 200 ms does not: at most 8 requests in 20 s', (t) => {
  const page = new Page(t);
  page.send();
  for (let n = 0; n < 100; n++) {
    page.be('reconnecting', 'live');
    page.pass(0.2);
  }
  assert.ok(page.sent.length <= 8, `${page.sent}`);
});

test('no request precedes the time that the server gave, not even when the socket becomes live', (t) => {
  const page = new Page(t, refused('RATE_LIMITED', { retryAfter: 12 }));
  page.send();
  page.pass(5);
  page.be('reconnecting', 'live');
  page.goOnline(true);
  page.pass(6.9);
  assert.deepEqual(page.sent, [0]);
  page.error = undefined;
  page.pass(2);
  assert.deepEqual(page.sent, [0, 13], 'a second after it, at the latest');
});

test('errors that repeating does not cure are retried only when the socket becomes live', (t) => {
  for (const code of ['NOT_FOUND', 'BAD_USER_INPUT', 'UNAUTHENTICATED', 'LIMIT_EXCEEDED']) assert.equal(transient(refused(code)), false);
  const page = new Page(t, refused('NOT_FOUND'));
  page.send();
  page.pass(100);
  assert.deepEqual(page.sent, [0]);
  page.be('reconnecting', 'live');
  assert.deepEqual(page.sent, [0, 100]);
});

test('after a success, the pauses are short again', (t) => {
  const page = new Page(t);
  page.send();
  page.pass(15);
  page.error = undefined;
  page.pass(30);
  const before = page.sent.length;
  page.error = lost();
  page.send();
  page.pass(2);
  assert.equal(page.sent.length, before + 2);
});

test('retryAfter reads extensions and headers', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01T00:00:00Z') });
  assert.equal(retryAfter(refused('RATE_LIMITED', { retryAfter: 7 })), 7_000);
  assert.equal(retryAfter({ errors: [{ message: 'no', extensions: { retryAfter: 7 } }] }), 7_000, 'Apollo Client');
  assert.equal(retryAfter(answered(503, { 'Retry-After': '120' })), 120_000);
  assert.equal(retryAfter(answered(503, { 'Retry-After': 'Thu, 01 Jan 2026 00:00:30 GMT' })), 30_000);
  assert.equal(retryAfter(answered(503, { 'Retry-After': 'Wed, 31 Dec 2025 00:00:30 GMT' })), 0);
  for (const error of [answered(502), answered(502, { 'Retry-After': 'soon' }), lost(), refused('UNAVAILABLE'), undefined]) assert.equal(retryAfter(error), undefined);
});

test('unreached says that there was no response', () => {
  for (const [error, is] of [[lost(), true], [answered(502), false], [refused('UNAVAILABLE'), false], [new TypeError('Failed to fetch'), true]] as const) {
    assert.equal(unreached(error), is);
  }
});
