import { useEffect, useRef } from 'react';
import type { Connection } from './api/connection';
import { retryAfter } from '@ovation/client';
import { t } from './messages';
import { RefreshTokenDocument, type SessionFragment } from './operations';
import { forgetLogin, recallLogin, rememberLogin, watchLogin, type Login } from './remembered';

const renewAfter = 0.75; // of the lifetime of a token, after which it is renewed
const maxDelay = 6 * 3_600_000; // milliseconds; timers are limited to 24 days
const retryDelay = 20_000;
const minDelay = 1_000; // between two renewals, even if the clock of this machine is wrong

// loginOf returns the login of a response.
export function loginOf({ token, expiresAt, user }: SessionFragment): Login {
  return { token, since: Date.now(), until: Date.parse(expiresAt), userId: user.userId };
}

// useRenewal maintains a login, see keepLogin. It calls over when the login has ended.
export function useRenewal(connection: Connection, login: Login | undefined, onEnd: (why: string) => void): void {
  const latest = useRef(onEnd);
  latest.current = onEnd;
  useEffect(() => (login ? keepLogin(connection, login, (why) => latest.current(why)) : undefined), [connection, login]);
}

// keepLogin renews the token of a login well before it expires, and follows what other tabs
// do with it, until the returned function is called. It calls over once when the login has
// ended: the user logged out in another tab, or the session was revoked or is too old. The
// browser then forgets the login.
export function keepLogin(connection: Pick<Connection, 'client' | 'status' | 'renew'>, login: Login, onEnd: (why: string) => void): () => void {
  let current = login;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const end = (why: string) => {
    if (ended) return;
    ended = true;
    forgetEnded(current);
    onEnd(why);
  };
  const plan = (wait = renewalOf(current) - Date.now()) => {
    clearTimeout(timer);
    if (!ended) timer = setTimeout(() => void renew(), Math.min(Math.max(wait, 0), maxDelay));
  };
  const take = (next: Login) => {
    current = next;
    connection.renew(next.token);
    plan(Math.max(renewalOf(current) - Date.now(), minDelay));
  };
  const renew = async () => {
    if (renewalOf(current) > Date.now()) return plan();
    const { data, error } = await connection.client.mutation(RefreshTokenDocument, {}).toPromise();
    if (ended) return;
    if (data) {
      const next = loginOf(data.refreshToken);
      rememberLogin(next);
      take(next);
    } else if (error?.graphQLErrors.some((one) => one.extensions['code'] === 'UNAUTHENTICATED')) {
      end(t.login.sessionEnded);
    } else {
      plan(Math.max(retryDelay, retryAfter(error) ?? 0));
    }
  };
  plan();
  const unwatchTabs = watchLogin(() => {
    const other = recallLogin();
    if (other?.userId !== current.userId) end(t.login.loggedOutElsewhere);
    else if (other.until > current.until) take(other);
  });
  const unwatchSocket = connection.status.watch(() => {
    if (connection.status.get().state === 'rejected') end(t.login.sessionEnded);
  });
  const onVisible = () => !document.hidden && plan(); // timers may have been suspended
  document.addEventListener('visibilitychange', onVisible);
  return () => {
    ended = true;
    clearTimeout(timer);
    unwatchTabs();
    unwatchSocket();
    document.removeEventListener('visibilitychange', onVisible);
  };
}

// forgetEnded forgets a login that has ended, but not its successor.
export function forgetEnded(login: Login): void {
  if (recallLogin()?.token === login.token) forgetLogin();
}

// renewalOf returns the time at which a token is renewed, in milliseconds since 1970.
function renewalOf({ since, until }: Login): number {
  return since + (until - since) * renewAfter;
}
