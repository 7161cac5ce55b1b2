import { createRequest, formatDocument, type Client, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { concat, empty, filter, fromPromise, fromValue, lazy, makeSubject, merge, mergeMap, pipe, share, type Source } from 'wonka';
import { FeedDocument, type CardFragment, type FeedQuery } from '../operations';
import { unconfirmed } from './advice';
import { keyOf, type Subject } from './subject';

// newest stands between the cache and the network and lets numbers go forwards
// only. What the page shows of a subject never flickers back:
//
// - Of two answers about a subject the one with the higher version is the newer.
//   An older one gets the counts of the newer.
// - The viewer's own actions on one subject are sent one after another, in the
//   order of the clicks.
// - An event that comes while such an action is under way waits for its answer.
// - An event that left the server just before the action was done may arrive
//   after its answer. It is known by contradicting it: the subject is asked for
//   anew, and that stands in place of the event.
// - An action's answer that is older than what is shown waits for a newer one,
//   which stands in its place.
// - A query's answer that comes while an action is under way waits for that of
//   the action. The cache then puts them in order by when they were sent.
export const newest: Exchange =
  ({ client, forward }) =>
  (operations) => {
    const questions = new Questions(client);
    const memory = new Memory(questions);
    const shared = share(operations);
    const own = pipe(
      shared,
      filter(isOwn),
      mergeMap((operation) => inTurn(memory, operation)),
    );
    const others = pipe(
      shared,
      filter((operation) => !isOwn(operation)),
    );
    return pipe(
      forward(merge([own, others, questions.operations])),
      mergeMap((result): Source<OperationResult> => {
        if (questions.take(result)) return nothing;
        if (isOwn(result.operation)) return concat([fromPromise(memory.answered(result)), lazy(() => memory.leave(result.operation))]);
        if (result.operation.kind === 'subscription') return memory.heard(result);
        return fromPromise(memory.read(result));
      }),
    );
  };

const nothing = empty as Source<OperationResult>;

// isOwn knows the actions that show before they are answered.
function isOwn(operation: Operation): boolean {
  return operation.kind === 'mutation' && operation.context['optimistic'] === true;
}

// inTurn sends an action when those before it on the same subject are answered.
function inTurn(memory: Memory, operation: Operation): Source<Operation> {
  const before = memory.enter(operation);
  return before ? fromPromise(before.then(() => operation)) : fromValue(operation);
}

// For so long after its answer, an own action is held against events.
const doubt = 5_000; // milliseconds

// Own is what the viewer's last action on a subject left behind.
interface Own {
  readonly card: CardFragment;
  readonly until: number; // held against events
}

// Memory is what is known of each subject that was seen.
class Memory {
  private readonly seen = new Map<string, CardFragment>();
  private readonly own = new Map<string, Own>();
  private readonly underWay = new Map<string, number>(); // own actions by subject
  private readonly held = new Map<string, OperationResult>(); // the last event that waits, by subject
  private readonly last = new Map<string, Promise<void>>(); // the end of the last own action
  private readonly end = new Map<number, () => void>(); // by operation

  constructor(private readonly questions: Questions) {}

  // enter begins an own action and returns what it has to wait for, if anything.
  enter(operation: Operation): Promise<void> | undefined {
    const key = keyOf(subjectOf(operation));
    const before = this.last.get(key);
    const ended = new Promise<void>((resolve) => this.end.set(operation.key, resolve));
    this.underWay.set(key, (this.underWay.get(key) ?? 0) + 1);
    this.last.set(key, ended);
    return before;
  }

  // read returns a query's result once no action on its subjects is under way.
  async read(result: OperationResult): Promise<OperationResult> {
    const keys = [...cardsIn(result.data)].map(keyOf);
    while (keys.some((key) => this.underWay.has(key))) await Promise.all(keys.map((key) => this.last.get(key)));
    return this.corrected(result);
  }

  // answered returns an own action's result, with a newer answer in place of its
  // own where that is known to be behind.
  async answered(result: OperationResult): Promise<OperationResult> {
    const subject = subjectOf(result.operation);
    const key = keyOf(subject);
    const [card] = cardsIn(result.data);
    if (result.error && unconfirmed(result.error)) this.questions.refresh(subject);
    if (card && card.version < (this.seen.get(key)?.version ?? 0)) {
      const now = await this.questions.ask(subject);
      if (now && now.version >= card.version) Object.assign(card, now);
    }
    if (card) this.believe(card);
    return this.corrected(result);
  }

  // leave ends an own action and returns what is to be shown of the event that
  // waited for it.
  leave(operation: Operation): Source<OperationResult> {
    const key = keyOf(subjectOf(operation));
    this.end.get(operation.key)?.(); // the next one may be sent
    this.end.delete(operation.key);
    const left = this.underWay.get(key)! - 1;
    if (left > 0) {
      this.underWay.set(key, left);
      return nothing;
    }
    this.underWay.delete(key);
    const event = this.held.get(key);
    this.held.delete(key);
    return event ? this.heard(event) : nothing;
  }

  // heard returns an event where it is to be shown, or what is to be shown in its
  // place.
  heard(event: OperationResult): Source<OperationResult> {
    const [card] = cardsIn(event.data);
    if (!card) return fromValue(event);
    const key = keyOf(card);
    if (this.underWay.has(key)) {
      this.held.set(key, event);
      return nothing;
    }
    if (card.version < (this.seen.get(key)?.version ?? 0) && card.freshness === 'LIVE') return nothing;
    if (!this.contradicted(card)) return fromValue(this.corrected(event));
    const own = this.last.get(key);
    return pipe(
      fromPromise(this.questions.ask(card)),
      mergeMap((now) => {
        if (!now) return nothing;
        if (this.last.get(key) !== own) return this.heard(event); // what was asked for is from before a click
        Object.assign(card, now);
        this.believe(now); // the same user may have changed it elsewhere
        return fromValue(this.corrected(event));
      }),
    );
  }

  // corrected returns a result with no older counts than were seen, and
  // remembers the newer ones.
  corrected(result: OperationResult): OperationResult {
    for (const card of cardsIn(result.data)) {
      const known = this.seen.get(keyOf(card));
      if (known && card.version < known.version) {
        const { readCount, likeCount, dislikeCount, collectCount, version } = known;
        const freshness = card.freshness === 'LIVE' ? known.freshness : 'STALE'; // known, but by us alone
        Object.assign(card, { readCount, likeCount, dislikeCount, collectCount, version, freshness });
      } else {
        this.seen.set(keyOf(card), { ...card });
      }
    }
    return result;
  }

  private believe(card: CardFragment): void {
    this.own.set(keyOf(card), { card: { ...card }, until: Date.now() + doubt });
  }

  private contradicted(card: CardFragment): boolean {
    const own = this.own.get(keyOf(card));
    if (!own || own.until < Date.now()) return false;
    return card.liked?.reaction !== own.card.liked?.reaction || card.collected?.folder.id !== own.card.collected?.folder.id;
  }
}

function subjectOf(operation: Operation): Subject {
  return (operation.variables as { input: Subject }).input;
}

// cardsIn finds the cards in an answer, however deep.
function* cardsIn(data: unknown): Generator<CardFragment> {
  if (typeof data !== 'object' || data === null) return;
  if ((data as CardFragment).__typename === 'Interactive' && 'version' in data) yield data as CardFragment;
  for (const part of Object.values(data)) yield* cardsIn(part);
}

const typedFeed = formatDocument(FeedDocument);

// Questions asks for subjects anew, past the cache: its answers go into the cache
// with what they stand in for.
class Questions {
  private readonly sent = makeSubject<Operation>();
  private readonly waiting = new Map<number, (card: CardFragment | undefined) => void>();
  private last = 0;

  constructor(private readonly client: Client) {}

  get operations(): Source<Operation> {
    return this.sent.source;
  }

  // ask gets a subject as it is after this call, or undefined where the server
  // does not answer.
  ask({ biz, bizId }: Subject): Promise<CardFragment | undefined> {
    // A key of its own, so that nothing takes two questions for one. Others are whole.
    const request = { ...createRequest(typedFeed, { subjects: [{ biz, bizId }] }), key: ++this.last + 0.5 };
    return new Promise((resolve) => {
      this.waiting.set(request.key, resolve);
      this.sent.next(this.client.createRequestOperation('query', request, { requestPolicy: 'network-only' }));
    });
  }

  // take reports whether a result is the answer to a question, and hands it over.
  take(result: OperationResult): boolean {
    const answer = this.waiting.get(result.operation.key);
    if (!answer) return false;
    this.waiting.delete(result.operation.key);
    answer((result.data as FeedQuery | undefined)?.interactives[0]);
    return true;
  }

  // refresh reads a subject into the cache.
  refresh({ biz, bizId }: Subject): void {
    void this.client.query(FeedDocument, { subjects: [{ biz, bizId }] }, { requestPolicy: 'network-only' }).toPromise();
  }
}
