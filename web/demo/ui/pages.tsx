import type { AnyVariables, DocumentInput } from '@urql/core';
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { useQuery } from 'urql';
import { adviseReader } from '../api/advice';
import { t } from '../messages';
import { useSession } from '../session';
import { Icon } from './icons';

export interface PageProps<Data> {
  readonly data: Data | undefined;
  readonly first: boolean; // whether it is the first page
}

interface Props<Data, Variables extends AnyVariables> {
  readonly label: string; // of the button for the next page
  readonly query: DocumentInput<Data, Variables>;
  readonly variables: (after: string | null) => Variables;
  readonly info: (data: Data) => { hasNextPage: boolean; endCursor: string | null } | undefined;
  readonly page: (props: PageProps<Data>) => ReactNode;
  readonly auto?: boolean; // whether the next page loads when the end comes into view
}

// Pages shows a list page by page. Each page is a query of its own, so that a page that
// changes is refetched alone. If it then ends elsewhere, the pages after it are queried
// again from there.
export function Pages<Data, Variables extends AnyVariables>(props: Props<Data, Variables>) {
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  const [last, setLast] = useState(0); // the last page that is loaded
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
  readonly then: string | null | undefined; // where the next page starts, if it was requested
  readonly last: boolean; // whether the next page is not loaded yet
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

// Failed is shown in place of a page that could not be loaded.
export function Failed({ error, onAgain }: { error: Parameters<typeof adviseReader>[0]; onAgain: () => void }) {
  return (
    <div className="failed" role="alert">
      <p>{adviseReader(error)}</p>
      <button type="button" className="button" onClick={onAgain}>
        {t.tryAgain}
      </button>
    </div>
  );
}

// More is the button for the next page. With auto, the page loads by itself when the
// button comes near the view.
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
        {label}
      </button>
    </p>
  );
}

// passFocusOn moves the focus from a More button that is about to be removed to what
// replaces it.
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
