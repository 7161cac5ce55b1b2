import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from 'react';
import type { CombinedError } from '@urql/core';
import { Provider } from 'urql';
import { anonymous, type Viewer } from '../viewer';
import { ask } from './api/ask';
import { connect, type Connection } from './api/connection';
import { forgetEnded, loginOf, useRenewal } from './login';
import { t } from './messages';
import { ViewerDocument, type SessionFragment } from './operations';
import { acceptsNames, forgetLogin, loggedIn, recall, remember, rememberLogin, type Who } from './remembered';

// Session is the viewer of the page.
export interface Session {
  readonly connection: Connection;
  readonly userId: string | null; // null for an anonymous viewer
  readonly known: boolean; // whether the server has confirmed it
  readonly problem: CombinedError | null; // why it has not, after the first attempt
  readonly account: boolean; // whether an account on this site is logged in
  readonly tokensOnly: boolean; // whether this server accepts only tokens
  readonly refusal: string | null; // why it rejected the last token
  readonly ended: string | null; // why the last login ended, unless the viewer logged out
  readonly changed: boolean; // whether the page had another viewer before
  tryAgain(): void; // asks the server again
  change(viewer: Viewer): void;
  logIn(session: SessionFragment): void;
  logOut(): void;
}

const Context = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error('useSession is for what is inside a SessionProvider');
  return session;
}

type Known = Pick<Session, 'userId' | 'known' | 'problem' | 'tokensOnly' | 'refusal' | 'ended' | 'changed'>;

const unidentified = (): Known => ({ userId: null, known: false, problem: null, tokensOnly: !acceptsNames(), refusal: null, ended: null, changed: false });

// SessionProvider connects as the viewer, and verifies that the server accepts it. The
// development server accepts a name. If the viewer is rejected, such as a name in the
// address, the page continues as an anonymous viewer and asks for a token.
export function SessionProvider({ children }: { children: ReactNode }) {
  const [viewer, setViewer] = useState(recall);
  const [known, setKnown] = useState(unidentified);
  const connection = useMemo(() => connect(viewer, viewer.login !== undefined), [viewer]);

  const switchTo = useCallback((next: Who, ended: string | null = null) => {
    setKnown((before) => ({ ...before, userId: null, known: false, problem: null, refusal: null, ended, changed: true }));
    setViewer({ ...next });
  }, []);
  const onEnd = useCallback((why: string) => switchTo(anonymous, why), [switchTo]);

  useEffect(() => {
    const end = identify(connection, (answer) => {
      if ('userId' in answer) return setKnown((before) => ({ ...before, userId: answer.userId, known: true, problem: null }));
      if ('problem' in answer) return setKnown((before) => ({ ...before, problem: answer.problem }));
      if (viewer.login) {
        forgetEnded(viewer.login);
        return onEnd(t.login.sessionEnded);
      }
      setKnown((before) => ({
        ...before,
        known: false,
        problem: null,
        tokensOnly: before.tokensOnly || !viewer.token,
        refusal: viewer.token ? answer.refused : null,
      }));
      setViewer(anonymous);
    });
    return () => {
      end();
      connection.close();
    };
  }, [connection, viewer, onEnd]);
  useRenewal(connection, viewer.login, onEnd);

  const session = useMemo<Session>(
    () => ({
      connection,
      ...known,
      account: viewer.login !== undefined,
      tryAgain: () => void connection.client.query(ViewerDocument, {}, { requestPolicy: 'network-only' }).toPromise(),
      change(next) {
        remember(next);
        switchTo(next);
      },
      logIn(answer) {
        const login = loginOf(answer);
        rememberLogin(login);
        switchTo(loggedIn(login));
      },
      logOut() {
        forgetLogin();
        remember(anonymous);
        switchTo(anonymous);
      },
    }),
    [connection, known, viewer, switchTo],
  );
  return (
    <Context.Provider value={session}>
      <Provider value={connection.client} key={key(viewer)}>
        {children}
      </Provider>
    </Context.Provider>
  );
}

type Answer = { userId: string | null } | { refused: string } | { problem: CombinedError };

// identify queries the viewer until the server responds. It reports why it did not, too. It
// returns a function that ends it.
function identify({ client }: Connection, report: (answer: Answer) => void): () => void {
  return ask(client, ViewerDocument, {}, ({ data, error }) => {
    const refusal = error?.graphQLErrors.find((one) => one.extensions['code'] === 'UNAUTHENTICATED');
    if (refusal) report({ refused: refusal.message });
    else if (data) report({ userId: data.viewer?.userId ?? null });
    else if (error) report({ problem: error });
    return Boolean(refusal || data);
  });
}

function key({ user, token }: Viewer): string {
  return token ? `token ${token}` : `user ${user}`;
}
