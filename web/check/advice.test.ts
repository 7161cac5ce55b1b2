/// <reference types="node" />
// What the demo page says about errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CombinedError } from '@urql/core';
import { advise, notSent, unconfirmed } from '../demo/api/advice';

test('only errors that prove a mutation was not executed say so', () => {
  for (const [code, is] of [['UNAVAILABLE', true], ['INTERNAL', true], [undefined, true], ['RATE_LIMITED', false], ['BAD_USER_INPUT', false]] as const) {
    const error = new CombinedError({ graphQLErrors: [{ message: 'not now', extensions: { code } }] });
    assert.equal(unconfirmed(error), is, code);
    assert.doesNotMatch(advise(error).text, /nothing was changed/i);
    assert.equal(/may have been done|not known whether/.test(advise(error).text), is, code);
  }
});

test('no sentence says both that something was not sent and that this is not known', () => {
  Object.defineProperty(globalThis, 'navigator', { value: { onLine: true }, configurable: true });
  const errors = ['UNAVAILABLE', 'INTERNAL', 'EXPIRED', 'RATE_LIMITED', 'BAD_USER_INPUT', 'NOT_FOUND'].map(
    (code) => new CombinedError({ graphQLErrors: [{ message: 'not now', extensions: { code } }] }),
  );
  for (const error of [...errors, new CombinedError({ networkError: new Error('Failed to fetch') })]) {
    const text = notSent(error);
    assert.ok(!(/not sent/i.test(text) && /may have been|not known/i.test(text)), text);
    assert.equal(/not sent/i.test(text), !unconfirmed(error), text);
  }
});
