import { useEffect } from 'react';
import { createPortal } from 'react-dom';
import type { CombinedError } from '@urql/core';
import { advise, unconfirmed } from '../api/advice';
import { Store, useStore } from '../api/store';
import { dialogs } from './dialog';
import { Icon } from './icons';
import { askWho } from './viewer-dialog';

interface Notice {
  readonly id: number;
  readonly says: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const shown = new Store<readonly Notice[]>([]);
const said = new Store('');
const atMost = 3; // notices at the same time
const shownFor = 9_000; // milliseconds
let nextId = 1;

// tell announces to screen readers only what other users see happen.
export function tell(text: string): void {
  said.set(text);
}

// complain shows the error of an attempt ("like “title”") and what to do about it; again
// repeats the attempt.
export function complain(attempt: string, error: CombinedError, again?: () => void): void {
  const advice = advise(error);
  const says = `${unconfirmed(error) ? 'Tried to' : 'Could not'} ${attempt}. ${advice.says}`;
  const rest = shown.get().filter((notice) => notice.says !== says);
  const action = advice.signIn
    ? { label: 'Say who you are', run: () => askWho() }
    : advice.retry && again
      ? { label: 'Try again', run: again }
      : undefined;
  shown.set([...rest, { id: nextId++, says, ...(action && { action }) }].slice(-atMost));
}

function dismiss(id: number): void {
  shown.set(shown.get().filter((notice) => notice.id !== id));
}

// Notices shows both: on the page, or in the topmost dialog.
export function Notices() {
  const notices = useStore(shown);
  const host = useStore(dialogs).at(-1) ?? document.body;
  return createPortal(
    <>
      <div className="unseen" role="status" aria-live="polite">
        {useStore(said)}
      </div>
      <div className="notices" role="region" aria-label="Notices" aria-live="polite">
        {notices.map((notice) => (
          <NoticeCard key={notice.id} notice={notice} />
        ))}
      </div>
    </>,
    host,
  );
}

function NoticeCard({ notice: { id, says, action } }: { notice: Notice }) {
  useEffect(() => {
    const timer = setTimeout(() => dismiss(id), shownFor);
    return () => clearTimeout(timer);
  }, [id]);
  return (
    <div className="notice">
      <p>{says}</p>
      {action && (
        <button
          type="button"
          className="button"
          onClick={() => {
            dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </button>
      )}
      <button type="button" className="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
