import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from 'react';
import { Provider } from 'urql';
import { anonymous, type Viewer } from '../viewer';
import { connect, type Connection } from './api/connection';
import { ViewerDocument } from './operations';
import { recall, remember } from './remembered';

// Session is who looks at the page.
export interface Session {
  readonly connection: Connection;
  readonly userId: string | null; // null for an anonymous viewer
  readonly known: boolean; // whether the server has said so
  readonly tokensOnly: boolean; // whether this server believes no names
  readonly refusal: string | null; // why it did not believe the last token
  change(viewer: Viewer): void;
}

const Context = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error('useSession is for what is inside a SessionProvider');
  return session;
}

type Known = Pick<Session, 'userId' | 'known' | 'tokensOnly' | 'refusal'>;

const nobodyYet: Known = { userId: null, known: false, tokensOnly: false, refusal: null };
const askAgain = 1_500; // milliseconds, while the server does not answer

// SessionProvider connects as the viewer, and asks the server whether it is
// believed. The development server believes a name. Where another one refuses
// it, the page goes on anonymously and asks for a token.
export function SessionProvider({ children }: { children: ReactNode }) {
  const [viewer, setViewer] = useState(recall);
  const [known, setKnown] = useState(nobodyYet);
  const connection = useMemo(() => connect(viewer), [viewer]);

  useEffect(() => {
    const given = new AbortController();
    void identify(connection, given.signal).then((answer) => {
      if (given.signal.aborted || !answer) return;
      if ('userId' in answer) {
        setKnown((before) => ({ ...before, userId: answer.userId, known: true }));
        return;
      }
      setKnown((before) => ({
        ...before,
        known: false,
        tokensOnly: before.tokensOnly || !viewer.token,
        refusal: viewer.token ? answer.refused : null,
      }));
      setViewer(anonymous);
    });
    return () => {
      given.abort();
      connection.close();
    };
  }, [connection, viewer]);

  const session = useMemo<Session>(
    () => ({
      connection,
      ...known,
      change(next) {
        remember(next);
        setKnown((before) => ({ ...before, userId: null, known: false, refusal: null }));
        setViewer({ ...next });
      },
    }),
    [connection, known],
  );
  return (
    <Context.Provider value={session}>
      <Provider value={connection.client} key={key(viewer)}>
        {children}
      </Provider>
    </Context.Provider>
  );
}

type Answer = { userId: string | null } | { refused: string };

// identify asks until the server answers.
async function identify({ client }: Connection, given: AbortSignal): Promise<Answer | undefined> {
  while (!given.aborted) {
    const { data, error } = await client.query(ViewerDocument, {}, { requestPolicy: 'network-only' }).toPromise();
    const refusal = error?.graphQLErrors.find((one) => one.extensions['code'] === 'UNAUTHENTICATED');
    if (refusal) return { refused: refusal.message };
    if (data) return { userId: data.viewer?.userId ?? null };
    await new Promise((resolve) => setTimeout(resolve, askAgain));
  }
  return undefined;
}

function key({ user, token }: Viewer): string {
  return token ? `token ${token}` : `user ${user}`;
}
