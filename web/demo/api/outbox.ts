import type { Client, CombinedError } from '@urql/core';
import { unconfirmed } from '@ovation/client';
import { SendMessageDocument } from '../operations';
import { requestId } from './request-id';
import { Store } from './store';

// Pending is a message of the viewer that the server has not confirmed.
export interface Pending {
  readonly requestId: string;
  readonly to: string;
  readonly text: string;
  readonly at: string;
  readonly error?: CombinedError;
  readonly delivered?: true; // the stream delivered it before the response
}

const outboxes = new WeakMap<Client, Outbox>();

export function outboxOf(client: Client): Outbox {
  const outbox = outboxes.get(client) ?? new Outbox(client);
  outboxes.set(client, outbox);
  return outbox;
}

// Outbox sends messages one after another, so that they keep their order, and keeps those
// that failed. A message that is sent again is stored only once.
class Outbox {
  readonly pending = new Store<readonly Pending[]>([]);
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly client: Client) {}

  send(to: string, text: string): void {
    this.attempt({ requestId: requestId(), to, text, at: new Date().toISOString() });
  }

  retry(message: Pending): void {
    const { error: _, ...again } = message;
    this.attempt(again);
  }

  // retryAll resends the messages that may not have reached the server.
  retryAll(): void {
    for (const message of this.pending.get()) if (message.error && unconfirmed(message.error)) this.retry(message);
  }

  // delivered marks a message that the stream has delivered, so that it is not shown twice.
  // It stays until the response, which may be an error.
  delivered({ to, text }: { to: { userId: string }; text: string }): void {
    const sending = this.pending.get().find((one) => !one.error && !one.delivered && one.to === to.userId && one.text === text);
    if (sending) this.pending.set(this.pending.get().map((one) => (one === sending ? { ...one, delivered: true } : one)));
  }

  discard({ requestId: id }: Pending): void {
    this.pending.set(this.pending.get().filter((other) => other.requestId !== id));
  }

  private attempt(message: Pending): void {
    const { requestId: id, to, text } = message;
    const others = this.pending.get();
    this.pending.set(others.some((one) => one.requestId === id) ? others.map((one) => (one.requestId === id ? message : one)) : [...others, message]);
    this.last = this.last.then(async () => {
      const { error } = await this.client.mutation(SendMessageDocument, { input: { to, text, requestId: id } }).toPromise();
      if (!error) return this.discard(message);
      this.pending.set(this.pending.get().map((one) => (one.requestId === id ? { ...message, error } : one)));
    });
  }
}
