/// <reference types="node" />
// What the demo page says about errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CombinedError } from '@urql/core';
import { advise, unconfirmed } from '../demo/api/advice';

test('only errors that prove a mutation was not executed say so', () => {
  for (const [code, is] of [['UNAVAILABLE', true], ['INTERNAL', true], [undefined, true], ['RATE_LIMITED', false], ['BAD_USER_INPUT', false]] as const) {
    const error = new CombinedError({ graphQLErrors: [{ message: 'not now', extensions: { code } }] });
    assert.equal(unconfirmed(error), is, code);
    assert.doesNotMatch(advise(error).text, /nothing was changed/i);
    assert.equal(/may have been done|not known whether/.test(advise(error).text), is, code);
  }
});
