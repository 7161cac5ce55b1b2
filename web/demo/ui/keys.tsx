import { useEffect, useRef, useState } from 'react';
import { Store, useStore } from '../api/store';
import { t } from '../messages';
import { Dialog, dialogs } from './dialog';

const storageKey = 'ovation:demo:keys';

const open = new Store(false);

// openKeys opens the list of the keys.
export const openKeys = () => open.set(true);

// groups returns the keys and what each does.
function groups(): readonly (readonly [string, readonly (readonly [string, string])[]])[] {
  const { names, ofClip, ofTexts, ofEverywhere } = t.keys;
  return [
    [
      t.keys.clip,
      [
        [t.format.either(['↓', 'J']), ofClip.next],
        [t.format.either(['↑', 'K']), ofClip.previous],
        [names.space, ofClip.play],
        ['L', ofClip.like],
        ['C', ofClip.comments],
        ['F', ofClip.collect],
        ['S', ofClip.share],
        ['M', ofClip.sound],
      ],
    ],
    [
      t.keys.texts,
      [
        [names.enter, ofTexts.send],
        [names.shiftEnter, ofTexts.newLine],
      ],
    ],
    [
      t.keys.everywhere,
      [
        ['?', ofEverywhere.list],
        [names.escape, ofEverywhere.close],
      ],
    ],
  ];
}

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
    <Dialog title={t.keys.title} onClose={() => open.set(false)}>
      {groups().map(([title, keys]) => (
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
        {t.keys.letters}
      </label>
    </Dialog>
  );
}
