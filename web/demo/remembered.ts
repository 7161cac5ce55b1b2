import { anonymous, type Viewer } from '../viewer';
import { decoded } from './route';

// Login is a session of an account on this site.
export interface Login {
  readonly token: string;
  readonly since: number; // milliseconds since 1970, like until
  readonly until: number;
  readonly userId: string;
}

// Who is a viewer, with the login if an account on this site is logged in.
export interface Who extends Viewer {
  readonly login?: Login;
}

// The viewer belongs to the browser tab, so that two tabs can be two users. It is forgotten
// with the tab.
const storageKey = 'ovation:demo:viewer';

// A login belongs to the browser: it outlives the tab, and logging out ends it in all tabs.
const loginKey = 'ovation:demo:login';

// The initial user if the server accepts names.
const greeted: Viewer = { user: 'alice', token: '' };

// acceptsNames reports whether the server accepts names, as in development. It then marks
// the page.
export const acceptsNames = () => document.documentElement.hasAttribute('data-accepts-names');

// recall returns the last viewer of this tab, or the account that is logged in. An address
// that ends in #user=bob or #token=… overrides both; it is removed from the address.
export function recall(): Who {
  const named = /^#(user|token)=(.+)$/.exec(location.hash);
  if (named) {
    history.replaceState(null, '', `${location.pathname}#/`);
    const viewer = { user: '', token: '', [named[1]!]: decoded(named[2]!) };
    remember(viewer);
    return viewer;
  }
  const kept = read(() => sessionStorage, storageKey);
  if (isViewer(kept)) return kept;
  const login = recallLogin();
  if (login) return loggedIn(login);
  return acceptsNames() ? greeted : anonymous;
}

export const loggedIn = (login: Login): Who => ({ user: '', token: login.token, login });

// remember stores the viewer if the browser permits it.
export function remember({ user, token }: Viewer): void {
  write(() => sessionStorage, storageKey, { user, token });
}

// rememberLogin makes a login that of every tab without a viewer of its own.
export function rememberLogin(login: Login): void {
  write(() => sessionStorage, storageKey, undefined);
  write(() => localStorage, loginKey, login);
}

export function forgetLogin(): void {
  write(() => localStorage, loginKey, undefined);
}

// recallLogin returns the login of this browser, unless it has expired.
export function recallLogin(): Login | undefined {
  const kept = read(() => localStorage, loginKey);
  return isLogin(kept) && kept.until > Date.now() ? kept : undefined;
}

// watchLogin calls back when another tab logs in, logs out, or renews the token.
export function watchLogin(changed: () => void): () => void {
  const onStorage = (event: StorageEvent) => event.key === loginKey && changed();
  addEventListener('storage', onStorage);
  return () => removeEventListener('storage', onStorage);
}

function read(storage: () => Storage, key: string): unknown {
  try {
    return JSON.parse(storage().getItem(key) ?? 'null');
  } catch {
    return null; // storage is blocked or its content is invalid
  }
}

function write(storage: () => Storage, key: string, value: unknown): void {
  try {
    if (value === undefined) storage().removeItem(key);
    else storage().setItem(key, JSON.stringify(value));
  } catch {
    // Storage is blocked or full: the viewer is kept as long as the page.
  }
}

function isViewer(value: unknown): value is Viewer {
  const { user, token } = (value ?? {}) as Partial<Viewer>;
  return typeof user === 'string' && typeof token === 'string';
}

function isLogin(value: unknown): value is Login {
  const { token, since, until, userId } = (value ?? {}) as Partial<Login>;
  return typeof token === 'string' && typeof since === 'number' && typeof until === 'number' && typeof userId === 'string';
}
