import { useEffect, useState } from 'react';
import { createPortal } from 'react-dom';
import type { CombinedError } from '@urql/core';
import { advise, unconfirmed } from '../api/advice';
import { Store, useStore } from '../api/store';
import { t } from '../messages';
import { dialogs } from './dialog';
import { Icon } from './icons';
import { openLogin } from './viewer-dialog';

interface Notice {
  readonly id: number;
  readonly about: string; // a notice replaces the one before it about the same
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const shown = new Store<readonly Notice[]>([]);
const announcement = new Store('');
const maxNotices = 3; // notices at the same time
const shownFor = 9_000; // milliseconds without the pointer or the focus on a notice
const timers = new Map<number, ReturnType<typeof setTimeout>>(); // by the id of the notice
let nextId = 1;

// announce passes a text to screen readers only, about what other viewers see happen.
export function announce(text: string): void {
  announcement.set(text);
}

// showNotice shows a text, in place of the one before it about the same.
export function showNotice(text: string, about = text, action?: Notice['action']): void {
  const id = nextId++;
  const rest = shown.get().filter((notice) => notice.about !== about);
  shown.set([...rest, { id, about, text, ...(action && { action }) }].slice(-maxNotices));
  release(id);
}

// showFailure shows the error of an attempt, one of t.attempts, and what to do about it; again
// repeats the attempt.
export function showFailure(attempt: string, error: CombinedError, again?: () => void): void {
  const advice = advise(error);
  const text = (unconfirmed(error) ? t.errors.unconfirmed : t.errors.failed)(attempt, advice.text);
  const action = advice.signIn
    ? { label: t.logIn, run: () => openLogin() }
    : advice.retry && again
      ? { label: t.tryAgain, run: again }
      : undefined;
  showNotice(text, text, action);
}

function dismiss(id: number): void {
  hold(id);
  shown.set(shown.get().filter((notice) => notice.id !== id));
}

// release has a notice leave after its time, whatever is rendered meanwhile.
function release(id: number): void {
  hold(id);
  timers.set(id, setTimeout(() => dismiss(id), shownFor));
}

function hold(id: number): void {
  clearTimeout(timers.get(id));
  timers.delete(id);
}

// Notices shows both: above the view or, if a dialog is open, at the top of the topmost one.
// Notices take a place of their own, so that they cover nothing.
export function Notices() {
  const notices = useStore(shown);
  const announced = useStore(announcement);
  const [place, setPlace] = useState<HTMLElement | null>(null);
  const dialog = useStore(dialogs).at(-1);
  const host = dialog ?? place;
  return (
    <>
      <div className="notices-place" ref={setPlace} />
      {host &&
        createPortal(
          <>
            <div className="unseen" role="status" aria-live="polite">
              {announced}
            </div>
            <div className="notices" role="region" aria-label={t.masthead.notices} aria-live="polite" ref={dialog ? undefined : takePlace}>
              {notices.map((notice) => (
                <NoticeCard key={notice.id} notice={notice} />
              ))}
            </div>
          </>,
          host,
        )}
    </>
  );
}

const sizes = typeof ResizeObserver === 'undefined' ? undefined : new ResizeObserver((changes) => setHeight((changes.at(-1)!.target as HTMLElement).offsetHeight));

// takePlace keeps the height of the notices above the view in a variable, for views that fill
// the rest of the screen.
function takePlace(element: HTMLElement | null): void {
  sizes?.disconnect();
  if (element) sizes?.observe(element);
  setHeight(element?.offsetHeight ?? 0);
}

function setHeight(pixels: number): void {
  document.documentElement.style.setProperty('--notices', `${pixels}px`);
}

function NoticeCard({ notice: { id, text, action } }: { notice: Notice }) {
  const [hovered, setHovered] = useState(false);
  const [focused, setFocused] = useState(false);
  const held = hovered || focused;
  useEffect(() => {
    if (!held) return undefined;
    hold(id);
    return () => release(id);
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
      <button type="button" className="plain" aria-label={t.masthead.dismiss} onClick={() => dismiss(id)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
