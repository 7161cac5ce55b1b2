import { CombinedError, type AnyVariables, type Client, type TypedDocumentNode } from '@urql/core';
import { retryAfter, Retries, unconfirmed, unreached, type Live } from '@ovation/client';
import { AddCommentDocument, SendMessageDocument, type AddCommentInput } from '../operations';
import { actionDocuments, followedBy, inputOf, type Action } from './action';
import { kept, keep } from './kept';
import { requestId } from './request-id';
import { Store } from './store';
import { keyOf, type Subject } from './subject';

// Pending is something that the viewer did and the server has not confirmed.
export type Pending = PendingMessage | PendingComment | PendingAction;

interface Common {
  readonly requestId: string; // of an action, only its name here
  readonly at: string;
  readonly tried?: true; // it was sent before, and may have been executed
  readonly waits?: true; // for the server, or until the machine is online
  readonly error?: CombinedError; // the response to the last attempt
}

export interface PendingMessage extends Common {
  readonly kind: 'message';
  readonly to: string;
  readonly text: string;
  readonly delivered?: true; // the stream delivered it before the response
}

export interface PendingComment extends Common {
  readonly kind: 'comment';
  readonly input: AddCommentInput; // with the request id
}

export interface PendingAction extends Common {
  readonly kind: 'action';
  readonly action: Action;
}

// The server remembers request ids for a day. What may have been executed longer ago is not
// sent again by itself.
const safeFor = 23 * 3_600_000; // milliseconds

const lane = 'outbox'; // what is retried

// Outbox sends what the viewer writes one after another, so that it keeps its order, and
// keeps what failed. What cannot be sent waits: until the machine is online again, until
// the socket is live, or for a growing pause. It is kept over a reload of the page. What is
// sent again takes effect only once.
//
// Actions, such as likes, are here only while they wait. Repeating one changes nothing.
export class Outbox {
  readonly pending = new Store<readonly Pending[]>([]);
  private readonly retries: Retries<string>;
  private userId: string | undefined;
  private current: string | undefined; // what is being sent
  private running = false;

  constructor(
    private readonly client: Client,
    socket: Live,
  ) {
    this.retries = new Retries(socket, () => this.retryAll());
  }

  // open continues with what a user of this tab left behind.
  open(userId: string): void {
    if (this.userId === userId) return;
    this.userId = userId;
    const here = new Set(this.pending.get().map((one) => one.requestId));
    this.set([...kept(userId).filter((one) => !here.has(one.requestId)), ...this.pending.get()]);
    this.retryAll();
  }

  // close stops all retries. What is pending stays for the next open.
  close(): void {
    this.retries.stop();
  }

  send(to: string, text: string): void {
    this.add({ kind: 'message', requestId: requestId(), to, text, at: now() });
    this.wake();
  }

  // comment sends a comment that could not be sent otherwise, which has a request id. If an
  // attempt failed, error says why.
  comment(input: AddCommentInput, error?: CombinedError): void {
    this.add({ kind: 'comment', requestId: input.requestId!, input, at: now(), ...(error && { tried: true }) });
    if (error) this.wait(error);
    else this.wake();
  }

  // holds reports whether an action on a subject must wait: the machine is offline, or
  // another one waits that comes before it.
  holds(subject: Subject): boolean {
    return isOffline() || this.pending.get().some((one) => one.kind === 'action' && keyOf(one.action) === keyOf(subject));
  }

  // act sends an action that could not be sent otherwise. It replaces those that it makes
  // needless. If an attempt failed, error says why.
  act(action: Action, error?: CombinedError): void {
    this.set(this.pending.get().filter((one) => one.kind !== 'action' || one.requestId === this.current || !followedBy(one.action, action)));
    const first = !this.pending.get().some((one) => one.waits);
    this.add({ kind: 'action', requestId: requestId(), action, at: now() });
    if (error || !first) this.wait(error);
    else void this.run();
  }

  retry({ requestId: id }: Pending): void {
    this.change(id, ({ error: _, waits: __, ...again }) => ({ ...again, at: now() }) as Pending);
    void this.run();
  }

  // retryAll sends what may not have reached the server.
  retryAll(): void {
    this.set(this.pending.get().map((one) => (one.kind !== 'action' && one.tried && isOld(one) ? expired(one) : again(one))));
    void this.run();
  }

  // delivered marks a message that the stream has delivered, so that it is not shown twice.
  // It stays until the response, which may be an error.
  delivered({ to, text }: { to: { userId: string }; text: string }): void {
    const sending = this.pending.get().find((one) => one.kind === 'message' && !one.error && (!one.waits || one.tried) && !one.delivered && one.to === to.userId && one.text === text);
    if (sending) this.change(sending.requestId, (one) => ({ ...one, delivered: true }) as Pending);
  }

  discard({ requestId: id }: Pending): void {
    this.set(this.pending.get().filter((other) => other.requestId !== id));
  }

  private add(one: Pending): void {
    this.set([...this.pending.get(), one]);
  }

  private wake(): void {
    if (this.pending.get().some((one) => one.waits)) this.retryAll();
    else void this.run();
  }

  // run sends what is not sent yet, until something cannot be sent.
  private async run(): Promise<void> {
    if (this.running) return;
    this.running = true;
    let failure: CombinedError | undefined;
    for (let next = this.next(); next; next = this.next()) {
      const { requestId: id } = next;
      if (isOffline()) {
        this.hold();
        break;
      }
      this.current = id;
      this.change(id, (one) => ({ ...one, tried: true }));
      const error = await this.attempt(next);
      this.current = undefined;
      if (!error) {
        this.discard(next);
      } else if (unreached(error) || retryAfter(error) !== undefined) {
        this.hold(error);
        break;
      } else {
        this.change(id, (one) => ({ ...undelivered(one), error }));
        if (unconfirmed(error)) failure = error;
      }
    }
    this.running = false;
    if (failure) this.retries.failed(lane, failure);
    else if (!this.pending.get().some((one) => one.waits || (one.error && unconfirmed(one.error)))) this.retries.done(lane);
  }

  private next(): Pending | undefined {
    return this.pending.get().find((one) => !one.error && !one.waits);
  }

  // wait has something that was added wait, unless what waits is being sent.
  private wait(error: CombinedError | undefined): void {
    if (!this.running) this.hold(error);
  }

  // hold has everything wait that is not sent yet, so that it keeps its order, and plans the
  // next attempt if there is none.
  private hold(error?: CombinedError): void {
    const planned = this.pending.get().some((one) => one.waits);
    this.set(this.pending.get().map((one) => (one.error ? one : { ...undelivered(one), waits: true })));
    if (!planned) this.retries.failed(lane, error);
  }

  private async attempt(one: Pending): Promise<CombinedError | undefined> {
    if (one.kind === 'message') return this.mutate(SendMessageDocument, { input: { to: one.to, text: one.text, requestId: one.requestId } });
    if (one.kind === 'action') return this.mutate(actionDocuments[one.action.does], { input: inputOf(one.action) });
    return this.mutate(AddCommentDocument, { input: one.input });
  }

  private async mutate<Variables extends AnyVariables>(document: TypedDocumentNode<unknown, Variables>, variables: Variables): Promise<CombinedError | undefined> {
    return (await this.client.mutation(document, variables).toPromise()).error;
  }

  private change(id: string, change: (one: Pending) => Pending): void {
    this.set(this.pending.get().map((one) => (one.requestId === id ? change(one) : one)));
  }

  private set(pending: readonly Pending[]): void {
    this.pending.set(pending);
    if (this.userId !== undefined) keep(this.userId, pending);
  }
}

const now = () => new Date().toISOString();
const isOffline = () => globalThis.navigator?.onLine === false;

const isOld = ({ at }: Pending) => Date.now() - Date.parse(at) > safeFor;

// expired returns something that is not sent by itself any more.
function expired({ waits: _, ...one }: Pending): Pending {
  return { ...one, error: new CombinedError({ graphQLErrors: [{ message: 'expired', extensions: { code: 'EXPIRED' } }] }) } as Pending;
}

// again returns something to be sent, unless the server has rejected it.
function again(one: Pending): Pending {
  const { error, waits: _, ...rest } = one;
  return error && !unconfirmed(error) ? one : (rest as Pending);
}

function undelivered(one: Pending): Pending {
  const { delivered: _, ...rest } = one as PendingMessage;
  return rest as Pending;
}
