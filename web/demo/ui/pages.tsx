import type { AnyVariables, DocumentInput } from '@urql/core';
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { useQuery } from 'urql';
import { adviseReader } from '../api/advice';
import { useStore } from '../api/store';
import { useSession } from '../session';
import { Icon } from './icons';

export interface PageProps<Data> {
  readonly data: Data | undefined;
  readonly first: boolean; // whether it begins the list
}

interface Props<Data, Variables extends AnyVariables> {
  readonly label: string; // what there is more of
  readonly query: DocumentInput<Data, Variables>;
  readonly variables: (after: string | null) => Variables;
  readonly info: (data: Data) => { hasNextPage: boolean; endCursor: string | null } | undefined;
  readonly page: (props: PageProps<Data>) => ReactNode;
  readonly auto?: boolean; // whether the next page comes when the end is in view
}

// Pages shows a list one page after another. Each page is a query of its own, so
// that one that changes is read again alone. Where it then ends elsewhere, the
// pages after it are read anew, from there on.
export function Pages<Data, Variables extends AnyVariables>(props: Props<Data, Variables>) {
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  const [last, setLast] = useState(0); // the last page that has an answer
  return cursors.map((after, index) => (
    <Page
      key={after}
      {...props}
      after={after}
      then={cursors[index + 1]}
      last={index >= last}
      onAnswer={() => setLast(index)}
      onMore={(next) => setCursors((before) => [...before.slice(0, index + 1), next])}
      onCut={() => {
        setCursors((before) => before.slice(0, index + 1));
        setLast(index);
      }}
    />
  ));
}

type OneProps<Data, Variables extends AnyVariables> = Props<Data, Variables> & {
  readonly after: string | null;
  readonly then: string | null | undefined; // where the next page begins, if it was asked for
  readonly last: boolean; // whether the next page has no answer yet
  readonly onAnswer: () => void;
  readonly onMore: (after: string) => void;
  readonly onCut: () => void;
};

function Page<Data, Variables extends AnyVariables>(props: OneProps<Data, Variables>) {
  const { label, query, variables, info, page, auto, after, then, last, onAnswer, onMore, onCut } = props;
  const { known } = useSession();
  const [{ data, error, fetching }, again] = useQuery<Data, Variables>({
    query,
    variables: variables(after),
    requestPolicy: 'cache-and-network',
    pause: !known,
  } as Parameters<typeof useQuery<Data, Variables>>[0]);
  useAgainWhenBack(Boolean(error), () => again({ requestPolicy: 'network-only' }));
  const next = data && info(data);
  const moved = then !== undefined && next !== undefined && next.endCursor !== then;
  const cut = useRef(onCut);
  cut.current = onCut;
  useEffect(() => {
    if (moved) cut.current();
  }, [moved]);
  const answered = useRef(onAnswer);
  answered.current = onAnswer;
  const hasAnswer = Boolean(data || error);
  useLayoutEffect(() => {
    if (hasAnswer) answered.current();
  }, [hasAnswer]);
  return (
    <>
      {page({ data, first: after === null })}
      {error && !data && <Failed error={error} onAgain={() => again({ requestPolicy: 'network-only' })} />}
      {last && next?.hasNextPage && next.endCursor && (
        <More label={label} auto={auto ?? false} busy={fetching || then !== undefined} onMore={() => onMore(next.endCursor!)} />
      )}
    </>
  );
}

// useAgainWhenBack repeats what has failed once the connection is back.
export function useAgainWhenBack(failed: boolean, again: () => void): void {
  const { connection } = useSession();
  const live = useStore(connection.status).state === 'live';
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (live && failed) latest.current();
  }, [live, failed]);
}

// Failed stands in place of a page that could not be read.
export function Failed({ error, onAgain }: { error: Parameters<typeof adviseReader>[0]; onAgain: () => void }) {
  return (
    <div className="failed" role="alert">
      <p>{adviseReader(error)}</p>
      <button type="button" className="button" onClick={onAgain}>
        Try again
      </button>
    </div>
  );
}

// More is the button for the next page. With auto it presses itself when it
// comes near.
export function More({ label, auto, busy, onMore }: { label: string; auto: boolean; busy: boolean; onMore: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(onMore);
  latest.current = onMore;
  useEffect(() => {
    if (!auto || !button.current) return;
    const observer = new IntersectionObserver((changes) => changes.at(-1)?.isIntersecting && latest.current(), { rootMargin: '500px' });
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [auto]);
  useLayoutEffect(() => {
    const removed = button.current!;
    return () => passFocusOn(removed);
  }, []);
  return (
    <p className="more">
      <button type="button" className="button" ref={button} aria-busy={busy} onClick={onMore}>
        <Icon name="plus" />
        More {label}
      </button>
    </p>
  );
}

// passFocusOn moves the focus from a More button that is about to be removed to what
// comes in its place.
function passFocusOn(button: HTMLElement): void {
  if (document.activeElement !== button) return;
  const place = button.closest('.more');
  const list = place?.parentElement;
  const before = place?.previousElementSibling;
  queueMicrotask(() => {
    const next = before ? before.nextElementSibling : list?.firstElementChild;
    const takes = 'a[href], button, [tabindex]';
    const first = next?.matches(takes) ? next : next?.querySelector(takes);
    if (first instanceof HTMLElement) first.focus();
  });
}
