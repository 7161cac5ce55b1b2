import { useEffect, useRef, useState } from 'react';
import { Store, useStore } from '../api/store';
import { Dialog, dialogs } from './dialog';

const storageKey = 'ovation:demo:keys';

const open = new Store(false);

// openKeys opens the list of the keys.
export const openKeys = () => open.set(true);

const groups: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    'The clip in view',
    [
      ['↓ or J', 'next clip'],
      ['↑ or K', 'previous clip'],
      ['Space', 'play or pause'],
      ['L', 'like'],
      ['C', 'comments'],
      ['F', 'collect in a folder'],
      ['S', 'share'],
      ['M', 'sound'],
    ],
  ],
  [
    'Messages and comments',
    [
      ['Enter', 'send'],
      ['Shift Enter', 'new line'],
    ],
  ],
  [
    'Everywhere',
    [
      ['?', 'this list'],
      ['Esc', 'close'],
    ],
  ],
];

// useKeys calls back for a key that is pressed outside text fields and dialogs, without
// other keys that change its meaning. Viewers can turn it off.
export function useKeys(pressed: (key: string, event: KeyboardEvent) => void): void {
  const latest = useRef(pressed);
  latest.current = pressed;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { target, key, ctrlKey, metaKey, altKey, defaultPrevented } = event;
      const within = target instanceof Element && target.closest('dialog, input, textarea, select, [contenteditable], [popover]');
      if (defaultPrevented || ctrlKey || metaKey || altKey || within || dialogs.get().length > 0) return;
      if (key.length === 1 && key !== ' ' && !usesLetters()) return;
      latest.current(key, event);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}

// usesLetters reports whether single letters act. They are a nuisance to people who dictate.
function usesLetters(): boolean {
  try {
    return localStorage.getItem(storageKey) !== 'off';
  } catch {
    return true; // storage is blocked
  }
}

// Keys opens the list of the keys at a question mark.
export function Keys() {
  useKeys((key) => key === '?' && openKeys());
  const [letters, setLetters] = useState(usesLetters);
  if (!useStore(open)) return null;
  const change = (on: boolean) => {
    setLetters(on);
    try {
      localStorage.setItem(storageKey, on ? 'on' : 'off');
    } catch {
      // Storage is blocked or full: the letters act.
    }
  };
  return (
    <Dialog title="Keys" onClose={() => open.set(false)}>
      {groups.map(([title, keys]) => (
        <section key={title} className="keys">
          <h3>{title}</h3>
          <dl>
            {keys.map(([key, does]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label className="tick">
        <input type="checkbox" checked={letters} onChange={(event) => change(event.target.checked)} />
        Single letters act
      </label>
    </Dialog>
  );
}
