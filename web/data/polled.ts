import { useEffect, useState } from 'react';
import { backoff } from '@ovation/client';

export interface Polled<T> {
  readonly value: T | null; // the last response; null before the first
  readonly problem: string; // why the last request failed
}

const atLeast = 2_000; // milliseconds between two requests
const times = 10; // the page waits this many times the duration of the last request

// usePolled polls while the page is visible, at most every so many milliseconds. Slow
// requests, and those that fail, are repeated less often. A new key starts again.
export function usePolled<T>(key: string, ask: (signal: AbortSignal) => Promise<T>, every = atLeast): Polled<T> {
  const [state, setState] = useState<Polled<T> & { key: string }>({ key, value: null, problem: '' });
  useEffect(() => {
    const left = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0; // consecutive
    const turn = async () => {
      const begin = performance.now();
      if (!document.hidden) {
        try {
          const value = await ask(left.signal);
          failures = 0;
          if (!left.signal.aborted) setState({ key, value, problem: '' });
        } catch (error) {
          failures++;
          const problem = error instanceof Error ? error.message : String(error);
          if (!left.signal.aborted) setState((before) => ({ key, value: before.key === key ? before.value : null, problem }));
        }
      }
      if (!left.signal.aborted) timer = setTimeout(turn, Math.max(every, times * (performance.now() - begin), failures > 0 ? backoff(failures) : 0));
    };
    void turn();
    return () => {
      left.abort();
      clearTimeout(timer);
    };
    // The key contains everything that ask depends on.
  }, [key]);
  return state.key === key ? state : { value: null, problem: '' };
}
