import type { Status } from '@ovation/client';
import { useStore } from '../api/store';
import { t } from '../messages';
import { useSession } from '../session';
import { useOnline } from './online';
import { useWillSend } from './will-send';

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
  const { label, text } = state === 'idle' ? t.link.waiting : t.link[state];
  const said = status.reason && (state === 'rejected' || state === 'failed' || state === 'reconnecting') ? t.link.said(text, status.reason) : text;
  const why = held > 0 ? t.link.sentences([said, t.link.held(held), later]) : said;
  return (
    <div className="link-state" data-state={state}>
      {/* This version of React does not support the popover attributes. */}
      <button type="button" title={why} aria-label={t.link.why(label)} {...{ popovertarget: 'link-why' }}>
        <span className="link-dot" />
        <span className="link-label">{label}</span>
      </button>
      <p className="link-why" id="link-why" {...{ popover: 'auto' }}>
        {why}
      </p>
      <p className="unseen" role="status">
        {t.link.status(label, why)}
      </p>
    </div>
  );
}

function stateOf(state: Status['state'], subscribed: boolean): Status['state'] {
  return state === 'live' && !subscribed ? 'idle' : state;
}
