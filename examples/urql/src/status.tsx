import { failuresIn, unconfirmed, type Socket, type Status } from '@ovation/client';
import { createContext, useContext, useEffect, useRef, useState, useSyncExternalStore } from 'react';

// useStatus returns the state of the connection, and renders again when it changes.
export function useStatus({ status }: Socket): Status {
  return useSyncExternalStore(status.watch, status.get);
}

// StatusContext passes the status to all components.
export const StatusContext = createContext<Status>({ state: 'idle', reason: '' });

const labels = {
  idle: 'Not live', // there are no subscriptions
  connecting: 'Connecting…',
  live: 'Live',
  reconnecting: 'Reconnecting…',
  offline: 'Offline',
  rejected: 'Your token was rejected', // it is invalid, has expired or was revoked
  failed: 'The server closed the connection',
};

// StatusLine says whether counts are live and, if they are not, why.
export function StatusLine() {
  const { state, reason } = useContext(StatusContext);
  return <p role="status">{reason && (state === 'rejected' || state === 'failed') ? `${labels[state]}: ${reason}` : labels[state]}</p>;
}

// Problem shows the error of a query or a mutation until the connection is live again. An error
// without a response has a message of the client library, which is meant for developers.
export function Problem({ error }: { error: Error | undefined }) {
  const { state } = useContext(StatusContext);
  const [past, setPast] = useState<Error>();
  const latest = useRef(error);
  latest.current = error;
  useEffect(() => {
    if (state === 'live') setPast(latest.current);
  }, [state]);

  if (!error || error === past) return null;
  const message = failuresIn(error)[0]?.message ?? 'The server did not answer.';
  return <small role="alert">{unconfirmed(error) ? `${message} Try again in a moment.` : message}</small>;
}
