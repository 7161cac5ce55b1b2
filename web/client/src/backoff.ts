const firstPause = 2_000; // milliseconds, like all durations here
const longestPause = 30_000;

// backoff returns the pause before a retry, which grows with the number of retries before it,
// up to a ceiling. Half of it is random, so that clients do not all return at once.
export function backoff(retries: number, first = firstPause, longest = longestPause): number {
  return Math.min(longest, first * 2 ** retries) * (0.5 + Math.random() / 2);
}

// isOffline reports whether the machine has no network connection.
export const isOffline = (): boolean => globalThis.navigator?.onLine === false;
