import { useEffect, useState } from 'react';
import { createPortal } from 'react-dom';
import type { CombinedError } from '@urql/core';
import { advise, unconfirmed } from '../api/advice';
import { Store, useStore } from '../api/store';
import { dialogs } from './dialog';
import { Icon } from './icons';
import { openLogin } from './viewer-dialog';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const shown = new Store<readonly Notice[]>([]);
const announcement = new Store('');
const maxNotices = 3; // notices at the same time
const shownFor = 9_000; // milliseconds without the pointer or the focus on a notice
let nextId = 1;

// announce passes a text to screen readers only, about what other viewers see happen.
export function announce(text: string): void {
  announcement.set(text);
}

// showFailure shows the error of an attempt ("like “title”") and what to do about it; again
// repeats the attempt.
export function showFailure(attempt: string, error: CombinedError, again?: () => void): void {
  const advice = advise(error);
  const text = `${unconfirmed(error) ? 'Tried to' : 'Could not'} ${attempt}. ${advice.text}`;
  const rest = shown.get().filter((notice) => notice.text !== text);
  const action = advice.signIn
    ? { label: 'Log in', run: () => openLogin() }
    : advice.retry && again
      ? { label: 'Try again', run: again }
      : undefined;
  shown.set([...rest, { id: nextId++, text, ...(action && { action }) }].slice(-maxNotices));
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
        {useStore(announcement)}
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

function NoticeCard({ notice: { id, text, action } }: { notice: Notice }) {
  const [hovered, setHovered] = useState(false);
  const [focused, setFocused] = useState(false);
  const held = hovered || focused;
  useEffect(() => {
    if (held) return undefined;
    const timer = setTimeout(() => dismiss(id), shownFor);
    return () => clearTimeout(timer);
  }, [id, held]);
  return (
    <div
      className="notice"
      onPointerMove={() => setHovered(true)} // not where it appears under a pointer at rest
      onPointerLeave={() => setHovered(false)}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
    >
      <p>{text}</p>
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
