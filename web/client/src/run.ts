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

// Send sends an operation and returns what cancels it.
export type Send<R> = (sink: Sink<R>) => () => void;

// run sends an operation and passes on its results, corrected by newest. It
// returns what cancels it.
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
    return cancel; // what was sent is not taken back
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
  let turn = Promise.resolve();
  return send({
    next: (result) => void (turn = turn.then(() => newest.read(operation, result.data)).then(() => sink.next(result))),
    error: (error) => void turn.then(() => sink.error(error)),
    complete: () => void turn.then(() => sink.complete()),
  });
}

// watch passes events on in their order, except that one that has to wait holds up
// none of another subject.
function watch<R extends Result>(newest: Newest, operation: Operation, send: Send<R>, sink: Sink<R>): () => void {
  let turn: Promise<unknown> = Promise.resolve();
  const waiting = new Set<Promise<unknown>>();
  const end = (then: () => void) => void Promise.all([turn, ...waiting]).then(then);
  return send({
    next(result) {
      const inOrder = !eventCard(operation, result.data);
      const told = (inOrder ? turn : Promise.resolve()).then(() => newest.event(operation, result.data)).then((display) => display && sink.next(result));
      if (inOrder) turn = told;
      waiting.add(told);
      void told.then(() => waiting.delete(told));
    },
    error: (error) => end(() => sink.error(error)),
    complete: () => end(() => sink.complete()),
  });
}
