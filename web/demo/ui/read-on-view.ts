import { useEffect, type RefObject } from 'react';
import { useClient } from 'urql';
import { keyOf, type Subject } from '../api/subject';
import { ReadDocument } from '../operations';

// A read is this share of a card in view for this long.
const share = 0.6;
const dwell = 1_000; // milliseconds

// The subjects that were read, for each client: each counts once for a viewer until the
// page is reloaded.
const done = new WeakMap<object, Set<string>>();

// useReadOnView records a read of a subject when its card comes into view. Errors are
// ignored.
export function useReadOnView(card: RefObject<HTMLElement | null>, { biz, bizId }: Subject): void {
  const client = useClient();
  useEffect(() => {
    const read = done.get(client) ?? new Set();
    done.set(client, read);
    const key = keyOf({ biz, bizId });
    if (read.has(key) || !card.current) return;

    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new IntersectionObserver(
      (changes) => {
        clearTimeout(timer);
        if ((changes.at(-1)?.intersectionRatio ?? 0) < share) return;
        timer = setTimeout(() => {
          observer.disconnect();
          if (read.has(key)) return;
          read.add(key);
          void client.mutation(ReadDocument, { input: { biz, bizId } }).toPromise();
        }, dwell);
      },
      { threshold: share },
    );
    observer.observe(card.current);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [client, card, biz, bizId]);
}
