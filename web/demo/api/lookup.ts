import type { Client } from '@urql/core';
import { Value, type Watched } from '@ovation/client';
import type { ClipFragment, NamedFragment } from '../operations';
import { ask } from './ask';

// Profiles are the profiles of users, null for users without an account.
export type Profiles = Lookup<NamedFragment['profile']>;

// Clips are the titles and covers of videos, null for deleted ones.
export type Clips = Lookup<Pick<ClipFragment, 'title' | 'coverUrl'> | null>;

export const profilesOf = (client: Client): Profiles =>
  new Lookup(client, 'userId', 'user(userId: $KEY) { id userId profile { name avatarUrl signature } }', (user) => (user as NamedFragment).profile);

export const clipsOf = (client: Client): Clips =>
  new Lookup(client, 'videoId', 'video(videoId: $KEY) { id videoId title coverUrl }', (video) => video as ClipFragment | null);

const atOnce = 20;
const batchDelay = 10; // milliseconds

// Lookup queries one field for many keys and batches them into few requests. It completes
// lists of subjects, which contain only the ids of users and videos.
export class Lookup<T> {
  private readonly values = new Map<string, Value<T | undefined>>();
  private readonly waiting = new Set<string>();
  private readonly asked = new Set<() => void>(); // each ends a query
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;

  constructor(
    private readonly client: Client,
    private readonly name: string, // of the variable in the query
    private readonly field: string,
    private readonly take: (answer: unknown) => T,
  ) {}

  // of returns the value of a key, undefined until it is known.
  of(key: string): Watched<T | undefined> {
    let value = this.values.get(key);
    if (!value) {
      value = new Value<T | undefined>(undefined);
      this.values.set(key, value);
      this.waiting.add(key);
      this.plan(batchDelay);
    }
    return value;
  }

  // learn sets a value that is known from another query.
  learn(key: string, value: T): void {
    this.waiting.delete(key);
    (this.of(key) as Value<T | undefined>).set(value);
    this.waiting.delete(key);
  }

  // stop ends all queries.
  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    for (const end of this.asked) end();
  }

  private plan(wait: number): void {
    if (this.stopped) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.ask([...this.waiting].slice(0, atOnce));
    }, wait);
  }

  private ask(keys: readonly string[]): void {
    for (const key of keys) this.waiting.delete(key);
    if (this.waiting.size > 0) this.plan(0);
    if (keys.length === 0) return;
    const variable = (place: number) => `${this.name}${place}`;
    const head = keys.map((_, place) => `$${variable(place)}: ID!`).join(', ');
    const body = keys.map((_, place) => `a${place}: ${this.field.replace('$KEY', `$${variable(place)}`)}`).join('\n');
    const variables = Object.fromEntries(keys.map((key, place) => [variable(place), key]));
    const end: () => void = ask<Record<string, unknown>, Record<string, string>>(this.client, `query Lookup(${head}) {\n${body}\n}`, variables, ({ data }) => {
      if (!data) return false;
      for (const [place, key] of keys.entries()) this.values.get(key)!.set(this.take(data[`a${place}`] ?? null));
      queueMicrotask(() => this.asked.delete(end)); // the response may be synchronous
      return true;
    });
    this.asked.add(end);
  }
}
