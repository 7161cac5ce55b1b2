import { backoff, isOffline } from './backoff.js';
import { retryAfter, transient } from './failure.js';
import { whenLive, type Live } from './when-live.js';

interface Failure {
  readonly count: number; // of consecutive failures
  timer?: ReturnType<typeof setTimeout> | undefined;
}

const longestWait = 3_600_000; // milliseconds; timers are limited to 24 days
const spread = 1_000; // over which clients return after the time that the server gave

// Retries decides when requests that failed are sent again:
//
// - Each time the socket becomes live, and each time the machine is online again.
// - Otherwise after pauses that grow, see backoff, if the error is transient.
// - Never while the machine is offline, and not before the time that the server gave in
//   an error: it applies to the retries of all requests.
export class Retries<Key> {
  private readonly failures = new Map<Key, Failure>();
  private readonly unwatch: () => void;
  private notBefore = 0; // milliseconds since 1970

  // again sends a request again. Report the outcome to failed or done.
  constructor(
    socket: Live,
    private readonly again: (key: Key) => void,
  ) {
    const wake = () => this.wake();
    const unwatchSocket = whenLive(socket, wake);
    globalThis.addEventListener?.('online', wake);
    this.unwatch = () => {
      unwatchSocket();
      globalThis.removeEventListener?.('online', wake);
    };
  }

  // has reports whether the last attempt of a request failed.
  has(key: Key): boolean {
    return this.failures.has(key);
  }

  // failed plans the next attempt. Without an error there was no response.
  failed(key: Key, error?: unknown): void {
    const before = this.failures.get(key);
    clearTimeout(before?.timer);
    const count = (before?.count ?? 0) + 1;
    this.failures.set(key, { count });
    const wait = retryAfter(error);
    if (wait !== undefined) this.notBefore = Math.max(this.notBefore, Date.now() + wait);
    if (transient(error)) this.plan(key, backoff(count - 1));
  }

  // done ends the retries of a request: it succeeded or is not wanted any more.
  done(key: Key): void {
    clearTimeout(this.failures.get(key)?.timer);
    this.failures.delete(key);
  }

  // stop ends all retries.
  stop(): void {
    this.unwatch();
    for (const key of [...this.failures.keys()]) this.done(key);
  }

  private wake(): void {
    for (const key of [...this.failures.keys()]) this.attempt(key);
  }

  private plan(key: Key, wait: number): void {
    const failure = this.failures.get(key)!;
    clearTimeout(failure.timer);
    const least = this.notBefore - Date.now();
    const pause = least > wait ? least + Math.random() * spread : wait;
    failure.timer = setTimeout(() => this.attempt(key), Math.min(pause, longestWait));
  }

  private attempt(key: Key): void {
    const failure = this.failures.get(key);
    if (!failure) return; // an attempt before it has ended it
    clearTimeout(failure.timer);
    if (isOffline()) return; // it is sent when the machine is online again
    if (Date.now() < this.notBefore) return this.plan(key, 0);
    this.again(key);
  }
}
