import { ApolloProvider } from '@apollo/client/react';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { open } from './client';
import { Feed } from './feed';
import { Folders, FoldersProvider } from './folders';
import { StatusContext, StatusLine, useStatus } from './status';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);

function Page() {
  const [connection, setConnection] = useState(() => open(sessionStorage.getItem('token') ?? ''));
  const status = useStatus(connection.socket);

  // Another user gets another connection, with an empty cache.
  function signIn(token: string) {
    sessionStorage.setItem('token', token);
    void connection.socket.dispose();
    setConnection(open(token));
  }

  return (
    <StatusContext.Provider value={status}>
      <header>
        <h1>Ovation with Apollo Client</h1>
        <StatusLine />
        <form
          onSubmit={(event) => {
            event.preventDefault();
            signIn(String(new FormData(event.currentTarget).get('token')).trim());
          }}
        >
          <label>
            Token <input name="token" autoComplete="off" placeholder="as make run prints it" />
          </label>
          <button type="submit">Sign in</button>
          <button type="button" onClick={() => signIn('')}>
            Sign out
          </button>
        </form>
      </header>
      {/* A rejected token signs its user out and removes the user's data from the page. */}
      {status.state !== 'rejected' && (
        <ApolloProvider client={connection.client}>
          <FoldersProvider>
            <Feed />
            <Folders />
          </FoldersProvider>
        </ApolloProvider>
      )}
    </StatusContext.Provider>
  );
}
