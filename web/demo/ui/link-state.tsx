import type { Status } from '@ovation/client';
import { useStore } from '../api/store';
import { useSession } from '../session';
import { useOnline } from './online';

const states: Record<Status['state'], { label: string; says: string }> = {
  idle: { label: 'Not live', says: 'Nothing in this view changes by itself. It is as it was when you opened it.' },
  connecting: { label: 'Connecting', says: 'The connection for live counts is being made.' },
  live: { label: 'Live', says: 'Counts change as others act.' },
  reconnecting: { label: 'Reconnecting', says: 'The connection to the server is lost. Counts may be outdated; the page keeps trying.' },
  offline: { label: 'Offline', says: 'This device is offline. Counts may be outdated.' },
  rejected: { label: 'Signed out', says: 'The server rejected the token. Say who you are again.' },
  failed: { label: 'Not live', says: 'The server has closed the connection. Counts are no longer updated: reload the page.' },
};

const waiting = { label: 'Connecting', says: 'The server has not answered yet. The page keeps asking.' };

// LinkState shows whether the view is live and, on request, why it is not. The stream of
// messages, which every view of a user has, makes only the views of messages live.
export function LinkState({ messages }: { messages: boolean }) {
  const { connection, known } = useSession();
  const status = useStore(connection.status);
  const subscribed = useStore(connection.subscribed) || messages;
  const state = stateOf(useOnline() ? status.state : 'offline', subscribed);
  const { label, says } = state === 'idle' && !known ? waiting : states[state];
  const why = status.reason && (state === 'rejected' || state === 'failed' || state === 'reconnecting') ? `${says} It said: ${status.reason}.` : says;
  return (
    <div className="link-state" data-state={state}>
      {/* This version of React does not support the popover attributes. */}
      <button type="button" title={why} aria-label={`${label}. Why?`} {...{ popovertarget: 'link-why' }}>
        <span className="link-dot" />
        <span className="link-label">{label}</span>
      </button>
      <p className="link-why" id="link-why" {...{ popover: 'auto' }}>
        {why}
      </p>
      <p className="unseen" role="status">
        {label}. {why}
      </p>
    </div>
  );
}

function stateOf(state: Status['state'], subscribed: boolean): Status['state'] {
  return state === 'live' && !subscribed ? 'idle' : state;
}
