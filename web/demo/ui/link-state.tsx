import type { Status } from '@ovation/client';
import { useStore } from '../api/store';
import { useSession } from '../session';
import { useOnline } from './online';
import { useWillSend } from './will-send';

const states: Record<Exclude<Status['state'], 'idle'>, { label: string; text: string }> = {
  connecting: { label: 'Connecting', text: 'The page is connecting to the server for live counts.' },
  live: { label: 'Live', text: 'Counts change as others act.' },
  reconnecting: { label: 'Reconnecting', text: 'The connection to the server is lost. Counts may be outdated; the page keeps trying.' },
  offline: { label: 'Offline', text: 'This device is offline. Counts may be outdated.' },
  rejected: { label: 'Signed out', text: 'The server rejected the token. Log in again.' },
  failed: { label: 'Not live', text: 'The server has closed the connection. Counts are no longer updated: reload the page.' },
};

const waiting = { label: 'Connecting', text: 'The server has not responded yet. The page keeps trying.' };

// LinkState shows whether the view is live and, on request, why it is not. It shows nothing
// in views that never change by themselves. The stream of messages, which every view of a
// user has, makes only the views of messages live.
export function LinkState({ messages }: { messages: boolean }) {
  const { connection, known } = useSession();
  const status = useStore(connection.status);
  const subscribed = useStore(connection.subscribed) || messages;
  const state = stateOf(useOnline() ? status.state : 'offline', subscribed);
  const held = useStore(connection.outbox.pending).filter((one) => one.waits).length;
  const later = useWillSend();
  if (state === 'idle' && known) return null;
  const { label, text } = state === 'idle' ? waiting : states[state];
  const said = status.reason && (state === 'rejected' || state === 'failed' || state === 'reconnecting') ? `${text} It said: ${status.reason}.` : text;
  const why = held > 0 ? `${said} ${held === 1 ? 'One thing waits' : `${held} things wait`}. ${later}` : said;
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
