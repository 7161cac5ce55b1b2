import type { Action, Newest } from './newest.js';
import { definitionOf, eventCard, type Operation } from './operation.js';

// Result is what Apollo Client and graphql-ws have in common.
interface Result {
  readonly data?: unknown;
  readonly errors?: readonly unknown[] | undefined;
}

export interface Sink<R> {
  next(result: R): void;
  error(error: unknown): void;
  complete(): void;
}

// Send sends an operation and returns a function that cancels it.
export type Send<R> = (sink: Sink<R>) => () => void;

// run sends an operation and passes on its results, corrected by newest. It returns a
// function that cancels it.
export function run<R extends Result>(newest: Newest, operation: Operation, send: Send<R>, sink: Sink<R>): () => void {
  let cancelled = false;
  const open: Sink<R> = {
    next: (result) => void (cancelled || sink.next(result)),
    error: (error) => void (cancelled || sink.error(error)),
    complete: () => void (cancelled || sink.complete()),
  };
  const cancel = () => void (cancelled = true);
  const action = newest.begin(operation);
  if (action) {
    void act(newest, action, send, open);
    return cancel; // a mutation that was sent is not cancelled
  }
  const stop = definitionOf(operation).operation === 'subscription' ? watch(newest, operation, send, open) : ask(newest, operation, send, open);
  return () => {
    cancel();
    stop();
  };
}

async function act<R extends Result>(newest: Newest, action: Action, send: Send<R>, sink: Sink<R>): Promise<void> {
  await action.before;
  let answered = Promise.resolve();
  let problem: unknown;
  send({
    next(result) {
      problem = result.errors;
      answered = newest.answered(action, result.data).then(() => sink.next(result));
    },
    error(error) {
      sink.error(error);
      newest.leave(action, error);
    },
    complete() {
      void answered.then(() => {
        sink.complete();
        newest.leave(action, problem);
      });
    },
  });
}

function ask<R extends Result>(newest: Newest, operation: Operation, send: Send<R>, sink: Sink<R>): () => void {
  let previous = Promise.resolve();
  return send({
    next: (result) => void (previous = previous.then(() => newest.read(operation, result.data)).then(() => sink.next(result))),
    error: (error) => void previous.then(() => sink.error(error)),
    complete: () => void previous.then(() => sink.complete()),
  });
}

// watch passes events on in order, except that an event that must wait does not delay
// those of other subjects.
function watch<R extends Result>(newest: Newest, operation: Operation, send: Send<R>, sink: Sink<R>): () => void {
  let previous: Promise<unknown> = Promise.resolve();
  const waiting = new Set<Promise<unknown>>();
  const end = (then: () => void) => void Promise.all([previous, ...waiting]).then(then);
  return send({
    next(result) {
      const inOrder = !eventCard(operation, result.data);
      const delivered = (inOrder ? previous : Promise.resolve()).then(() => newest.event(operation, result.data)).then((display) => display && sink.next(result));
      if (inOrder) previous = delivered;
      waiting.add(delivered);
      void delivered.then(() => waiting.delete(delivered));
    },
    error: (error) => end(() => sink.error(error)),
    complete: () => end(() => sink.complete()),
  });
}
