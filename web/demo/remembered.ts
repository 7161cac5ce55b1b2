import type { Viewer } from '../viewer';
import { decoded } from './route';

// Who looks at the page belongs to the browser tab, so that two tabs can be two
// people. It is forgotten with the tab.
const storageKey = 'ovation:demo:viewer';

// Whom the development server greets.
const greeted: Viewer = { user: 'alice', token: '' };

// recall returns who asked last in this tab. An address that ends in
// #user=bob or #token=… names somebody else; it is taken out of the address.
export function recall(): Viewer {
  const named = /^#(user|token)=(.+)$/.exec(location.hash);
  if (named) {
    history.replaceState(null, '', `${location.pathname}#/`);
    const viewer = { user: '', token: '', [named[1]!]: decoded(named[2]!) };
    remember(viewer);
    return viewer;
  }
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(storageKey) ?? 'null');
    return isViewer(kept) ? kept : greeted;
  } catch {
    return greeted; // storage is blocked, or holds what we did not write
  }
}

// remember keeps who asks, where the browser lets it.
export function remember(viewer: Viewer): void {
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(viewer));
  } catch {
    // Storage is blocked or full: the viewer lasts as long as the page.
  }
}

function isViewer(value: unknown): value is Viewer {
  const { user, token } = (value ?? {}) as Partial<Viewer>;
  return typeof user === 'string' && typeof token === 'string';
}
