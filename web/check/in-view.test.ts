/// <reference types="node" />
// Whether a view is live depends on its subscriptions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation, SubscriptionForwarder } from '@urql/core';
import { InView } from '../demo/api/in-view';

type Body = Parameters<SubscriptionForwarder>[0];
type Sink = Parameters<ReturnType<SubscriptionForwarder>['subscribe']>[0];

test('a view is live while it has subscriptions other than messages', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sinks: Sink[] = [];
  let ended = 0;
  const inView = new InView();
  const forward = inView.counting(() => ({
    subscribe: (sink) => {
      sinks.push(sink);
      return { unsubscribe: () => void ended++ };
    },
  }));
  const subscribe = (operationName: string) =>
    forward({ operationName } as Body, {} as Operation).subscribe({
      next() {},
      error() {},
      complete() {},
    });
  const live = () => inView.subscribed.get();

  assert.equal(live(), true, 'a page that loads has not subscribed yet');
  const messages = subscribe('Messages');
  t.mock.timers.tick(1_000);
  assert.equal(live(), false);

  const [first, second] = [subscribe('Live'), subscribe('Live')];
  assert.equal(live(), true);
  first.unsubscribe();
  first.unsubscribe();
  t.mock.timers.tick(1_000);
  assert.equal(live(), true, 'one that ends twice is counted once');

  sinks.at(-1)!.complete();
  const third = subscribe('CommentsChanged'); // belongs to the next view
  second.unsubscribe();
  t.mock.timers.tick(1_000);
  assert.equal(live(), true);
  third.unsubscribe();
  t.mock.timers.tick(999);
  assert.equal(live(), true);
  t.mock.timers.tick(1);
  assert.equal(live(), false);
  messages.unsubscribe();
  assert.equal(ended, 5);
});
