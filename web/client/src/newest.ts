import { unconfirmed } from './failure.js';
import { actedOn, cardsIn, eventCard, questionAbout, type Card, type Found, type Operation, type Question } from './operation.js';
import { counts, keyOf, states, type Freshness, type Interactive } from './subject.js';

// Network is what asks the server, past whatever corrects results.
export interface Network {
  // ask returns the data of an answer, or undefined where there is none.
  ask(question: Question): Promise<unknown>;
  // reread brings a subject up to date wherever it is kept.
  reread(question: Question): void;
}

// Action is a mutation on subjects that is under way.
export interface Action {
  readonly operation: Operation;
  readonly keys: readonly string[];
  readonly before: Promise<unknown> | undefined; // what it has to wait for
  readonly end: () => void;
}

// For so long after its answer, an own action is held against other results.
const doubt = 5_000; // milliseconds

// Own is what the viewer's last action on a subject left behind.
interface Own {
  readonly card: Interactive;
  readonly until: number; // held against other results
}

// Latest are the newest values that were seen of a subject. Operations may select
// different fields, so that each has a version of its own.
type Latest = Map<string, { readonly version: number; readonly value: unknown }>;

// Newest stands between a client and the network and lets counts go forwards
// only. What is displayed of a subject never flickers back:
//
// - Of two results about a subject the one with the higher version is the newer.
//   An older one gets the counts of the newer.
// - The viewer's own actions on one subject are sent one after another, in the
//   order of the clicks.
// - An event that comes while such an action is under way waits for its answer.
// - An event that left the server just before the action was done may arrive
//   after its answer. It is known by contradicting it: the subject is asked for
//   anew, and that answer replaces the event.
// - An action's answer that is older than what is displayed waits for a newer one,
//   which replaces it.
// - A query's answer that comes while an action is under way waits for the answer
//   of the action, and is then treated like an event.
export class Newest {
  private readonly latest = new Map<string, Latest>();
  private readonly own = new Map<string, Own>();
  private readonly underWay = new Map<string, number>(); // actions by subject
  private readonly last = new Map<string, Promise<void>>(); // the end of the last action
  private readonly held = new Map<string, (display: boolean) => void>(); // the last event that waits

  constructor(private readonly network: Network) {}

  // begin announces an operation, in the order of the clicks. Of those that are
  // actions it returns one: wait for its `before`, send it, pass what comes to
  // answered, display it, and leave.
  begin(operation: Operation): Action | undefined {
    const keys = [...new Set(actedOn(operation).map(({ subject }) => keyOf(subject)))];
    if (keys.length === 0) return undefined;
    const before = keys.flatMap((key) => (this.underWay.has(key) ? [this.last.get(key)!] : []));
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    for (const key of keys) {
      this.underWay.set(key, (this.underWay.get(key) ?? 0) + 1);
      this.last.set(key, ended);
    }
    return { operation, keys, before: before.length > 0 ? Promise.all(before) : undefined, end };
  }

  // answered corrects the answer to an action.
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

  // leave ends an action. Call it when its answer, or error, is displayed.
  leave({ operation, keys, end }: Action, error?: unknown): void {
    end(); // the next one may be sent
    for (const key of keys) {
      const left = this.underWay.get(key)! - 1;
      if (left > 0) {
        this.underWay.set(key, left);
        continue;
      }
      this.underWay.delete(key);
      const display = this.held.get(key);
      this.held.delete(key);
      display?.(true);
    }
    if (error === undefined || !unconfirmed(error)) return;
    for (const { subject, selections } of actedOn(operation)) {
      if (selections.length > 0) this.network.reread(questionAbout(operation, selections, subject));
    }
  }

  // event corrects an event and reports whether to display it: not where a newer
  // one has replaced it.
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
      if (this.underWay.has(key)) {
        if (!(await this.hold(key))) return false;
        continue;
      }
      if (this.isOld(card) && (card.freshness ?? 'LIVE') === 'LIVE') return false;
      if (!this.contradicted(card)) return correct();
      const action = this.last.get(key);
      const now = await this.ask(operation, found);
      if (!now) return false;
      if (this.last.get(key) !== action) continue; // the answer is from before a click
      Object.assign(card, now);
      this.adopt(now); // the same user may have changed it elsewhere
      return correct();
    }
  }

  // hold waits until no action is under way, or until a later event takes its place.
  private hold(key: string): Promise<boolean> {
    this.held.get(key)?.(false);
    return new Promise((resolve) => this.held.set(key, resolve));
  }

  // read corrects a query's answer, or an event of more than one subject, once no
  // action on its subjects is under way. A cache that orders results by when they
  // were asked for has no use for doubting them.
  async read(operation: Operation, data: unknown, doubting = true): Promise<void> {
    const all = cardsIn(operation, data);
    const keys = all.map(({ card }) => keyOf(card));
    for (;;) {
      while (keys.some((key) => this.underWay.has(key))) await Promise.all(keys.map((key) => this.last.get(key)));
      const doubted = doubting ? all.filter(({ card }) => this.contradicted(card)) : [];
      if (doubted.length === 0) break;
      const actions = keys.map((key) => this.last.get(key));
      const answers = await Promise.all(doubted.map((found) => this.ask(operation, found)));
      if (keys.some((key, place) => this.last.get(key) !== actions[place])) continue; // from before a click
      for (const [place, { card }] of doubted.entries()) {
        const now = answers[place];
        if (now) this.adopt(Object.assign(card, now));
      }
      break;
    }
    for (const { card } of all) this.correct(card);
  }

  // correct puts newer counts that were seen in place of older ones.
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
    else if (card.freshness !== 'LIVE') card.freshness = 'STALE'; // newer counts are known, but to this client alone
    else card.freshness = (latest.get('freshness')?.value as Freshness | undefined) ?? 'LIVE';
  }

  private isOld(card: Card): boolean {
    return card.version < (this.latest.get(keyOf(card))?.get('version')?.version ?? 0);
  }

  private adopt(card: Card): void {
    this.own.set(keyOf(card), { card: { ...card }, until: Date.now() + doubt });
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

// differ compares what the viewer did, as far as both operations selected it.
function differ(one: object | null | undefined, other: object | null | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  if (one === null || other === null) return one !== other;
  const { reaction: a, folder: in1 } = one as { reaction?: string; folder?: { id?: string } };
  const { reaction: b, folder: in2 } = other as { reaction?: string; folder?: { id?: string } };
  return (a !== undefined && b !== undefined && a !== b) || (in1?.id !== undefined && in2?.id !== undefined && in1.id !== in2.id);
}
