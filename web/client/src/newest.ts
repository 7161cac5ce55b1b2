import { unconfirmed } from './failure.js';
import { actedOn, cardsIn, eventCard, questionAbout, type Card, type Found, type Operation, type Question } from './operation.js';
import { counts, keyOf, states, type Freshness, type Interactive } from './subject.js';

// Network sends queries to the server, bypassing whatever corrects results.
export interface Network {
  // ask returns the data of the response, or undefined if there is none.
  ask(question: Question): Promise<unknown>;
  // reread refetches a subject into every cache that holds it.
  reread(question: Question): void;
}

// Action is a mutation in progress and the subjects that it acts on.
export interface Action {
  readonly operation: Operation;
  readonly keys: readonly string[];
  readonly before: Promise<unknown> | undefined; // the actions that it must wait for
  readonly end: () => void;
}

// For this long after its response, an own action overrides results that contradict it.
const overrideFor = 5_000; // milliseconds

// Own is the viewer's state of a subject after the viewer's last action.
interface Own {
  readonly card: Interactive;
  readonly until: number; // overrides other results until then
}

// Latest are the newest known values of a subject. Operations may select different
// fields, so each field has a version of its own.
type Latest = Map<string, { readonly version: number; readonly value: unknown }>;

// Newest stands between a client and the network and makes counts monotonic: what is
// displayed of a subject never flickers back to an older value.
//
// - Of two results about a subject, the one with the higher version is newer. The older
//   one takes its counts.
// - The viewer's own actions on one subject are sent one after another, in the order of
//   the clicks.
// - An event that arrives while such an action is in progress waits for its response.
// - An event that left the server just before the action was executed may arrive after
//   its response. It is recognised because it contradicts the response: the subject is
//   queried again, and that result replaces the event.
// - If the response to an action is older than what is displayed, it waits for a newer
//   one, which replaces it.
// - A query result that arrives while an action is in progress waits for the response to
//   the action, and is then treated like an event.
export class Newest {
  private readonly latest = new Map<string, Latest>();
  private readonly own = new Map<string, Own>();
  private readonly inProgress = new Map<string, number>(); // number of actions by subject
  private readonly last = new Map<string, Promise<void>>(); // settled when the last action ends
  private readonly held = new Map<string, (display: boolean) => void>(); // resolves the last waiting event

  constructor(private readonly network: Network) {}

  // begin registers an operation, in the order of the clicks. If it is an action, it
  // returns one: await its `before`, send it, pass the result to answered, display it,
  // and call leave.
  begin(operation: Operation): Action | undefined {
    const keys = [...new Set(actedOn(operation).map(({ subject }) => keyOf(subject)))];
    if (keys.length === 0) return undefined;
    const before = keys.flatMap((key) => (this.inProgress.has(key) ? [this.last.get(key)!] : []));
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    for (const key of keys) {
      this.inProgress.set(key, (this.inProgress.get(key) ?? 0) + 1);
      this.last.set(key, ended);
    }
    return { operation, keys, before: before.length > 0 ? Promise.all(before) : undefined, end };
  }

  // answered corrects the response to an action.
  async answered({ operation, keys }: Action, data: unknown): Promise<void> {
    for (const found of cardsIn(operation, data)) {
      const { card } = found;
      if (keys.includes(keyOf(card))) {
        if (this.isOld(card)) {
          const now = await this.ask(operation, found);
          if (now && now.version >= card.version) Object.assign(card, now);
        }
        this.adopt(card);
      }
      this.correct(card);
    }
  }

  // leave ends an action. Call it once its response or error is displayed.
  leave({ operation, keys, end }: Action, error?: unknown): void {
    end(); // the next one may be sent
    for (const key of keys) {
      const left = this.inProgress.get(key)! - 1;
      if (left > 0) {
        this.inProgress.set(key, left);
        continue;
      }
      this.inProgress.delete(key);
      const display = this.held.get(key);
      this.held.delete(key);
      display?.(true);
    }
    if (error === undefined || !unconfirmed(error)) return;
    for (const { subject, selections } of actedOn(operation)) {
      if (selections.length > 0) this.network.reread(questionAbout(operation, selections, subject));
    }
  }

  // event corrects an event and reports whether to display it: false if a newer one has
  // replaced it.
  async event(operation: Operation, data: unknown): Promise<boolean> {
    const found = eventCard(operation, data);
    if (!found) {
      await this.read(operation, data);
      return true;
    }
    return this.take(operation, found, () => {
      for (const { card } of cardsIn(operation, data)) this.correct(card);
      return true;
    });
  }

  private async take(operation: Operation, found: Found, correct: () => true): Promise<boolean> {
    const { card } = found;
    const key = keyOf(card);
    for (;;) {
      if (this.inProgress.has(key)) {
        if (!(await this.hold(key))) return false;
        continue;
      }
      if (this.isOld(card) && (card.freshness ?? 'LIVE') === 'LIVE') return false;
      if (!this.contradicted(card)) return correct();
      const action = this.last.get(key);
      const now = await this.ask(operation, found);
      if (!now) return false;
      if (this.last.get(key) !== action) continue; // the response is older than a click
      Object.assign(card, now);
      this.adopt(now); // the same user may have acted on another device
      return correct();
    }
  }

  // hold waits until no action is in progress, or until a later event replaces this one.
  private hold(key: string): Promise<boolean> {
    this.held.get(key)?.(false);
    return new Promise((resolve) => this.held.set(key, resolve));
  }

  // read corrects a query result, or an event about several subjects, once no action on
  // its subjects is in progress. Subjects that contradict an own action are queried again
  // first, unless requery is false: for a cache that orders results by request time.
  async read(operation: Operation, data: unknown, requery = true): Promise<void> {
    const all = cardsIn(operation, data);
    const keys = all.map(({ card }) => keyOf(card));
    for (;;) {
      while (keys.some((key) => this.inProgress.has(key))) await Promise.all(keys.map((key) => this.last.get(key)));
      const contradicting = requery ? all.filter(({ card }) => this.contradicted(card)) : [];
      if (contradicting.length === 0) break;
      const actions = keys.map((key) => this.last.get(key));
      const answers = await Promise.all(contradicting.map((found) => this.ask(operation, found)));
      if (keys.some((key, place) => this.last.get(key) !== actions[place])) continue; // older than a click
      for (const [place, { card }] of contradicting.entries()) {
        const now = answers[place];
        if (now) this.adopt(Object.assign(card, now));
      }
      break;
    }
    for (const { card } of all) this.correct(card);
  }

  // correct replaces counts for which newer values are known.
  private correct(card: Card): void {
    const key = keyOf(card);
    const latest = this.latest.get(key) ?? new Map();
    this.latest.set(key, latest);
    const { version } = card;
    const older = this.isOld(card);
    for (const field of ['version', ...counts] as const) {
      const known = latest.get(field);
      if (card[field] === undefined) continue;
      if (known && known.version > version) card[field] = known.value as number;
      else latest.set(field, { version, value: card[field] });
    }
    if (card.freshness === undefined) return;
    if (!older) latest.set('freshness', { version, value: card.freshness });
    else if (card.freshness === 'HIDDEN') return;
    else if (card.freshness !== 'LIVE') card.freshness = 'STALE'; // only this client knows newer counts
    else card.freshness = (latest.get('freshness')?.value as Freshness | undefined) ?? 'LIVE';
  }

  private isOld(card: Card): boolean {
    return card.version < (this.latest.get(keyOf(card))?.get('version')?.version ?? 0);
  }

  private adopt(card: Card): void {
    this.own.set(keyOf(card), { card: { ...card }, until: Date.now() + overrideFor });
  }

  private contradicted(card: Card): boolean {
    const own = this.own.get(keyOf(card));
    return own !== undefined && own.until >= Date.now() && states.some((state) => differ(card[state], own.card[state]));
  }

  private async ask(operation: Operation, { card, selections }: Found): Promise<Card | undefined> {
    const data = (await this.network.ask(questionAbout(operation, selections, card))) as { interactive?: Card } | null | undefined;
    return data?.interactive;
  }
}

// differ compares the viewer's states, as far as both operations selected them.
function differ(one: object | null | undefined, other: object | null | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  if (one === null || other === null) return one !== other;
  const { reaction: a, folder: in1 } = one as { reaction?: string; folder?: { id?: string } };
  const { reaction: b, folder: in2 } = other as { reaction?: string; folder?: { id?: string } };
  return (a !== undefined && b !== undefined && a !== b) || (in1?.id !== undefined && in2?.id !== undefined && in1.id !== in2.id);
}
