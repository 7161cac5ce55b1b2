import { advise, notSent } from '../api/advice';
import type { PendingMessage } from '../api/outbox';
import { useStore } from '../api/store';
import { t } from '../messages';
import type { MessageFragment } from '../operations';
import { clipIn, links } from '../route';
import { useSession } from '../session';
import { Icon } from './icons';
import { useWillSend } from './will-send';

const groupWithin = 5 * 60_000; // milliseconds: messages closer than this form a group

// Bubbles shows messages, oldest first, with the day and the time between groups.
export function Bubbles({ messages }: { messages: readonly MessageFragment[] }) {
  const { userId } = useSession();
  return (
    <ol className="bubbles">
      {messages.map((message, place) => {
        const before = messages[place - 1];
        const after = messages[place + 1];
        const own = message.from.userId === userId;
        const at = new Date(message.at);
        const newDay = !before || t.format.day(new Date(before.at)) !== t.format.day(at);
        const ends = !after || after.from.userId !== message.from.userId || Date.parse(after.at) - at.getTime() > groupWithin;
        return (
          <li key={message.id} data-way={own ? 'out' : 'in'} data-ends={ends || undefined}>
            {newDay && <p className="bubble-day">{t.format.day(at)}</p>}
            <Bubble text={message.text} way={own ? 'out' : 'in'} />
            {ends && (
              <time className="bubble-at" dateTime={message.at}>
                {t.format.clock(at)}
              </time>
            )}
          </li>
        );
      })}
    </ol>
  );
}

// PendingBubble shows a message that is being sent or has failed.
export function PendingBubble({ message, onRetry, onDiscard }: { message: PendingMessage; onRetry: () => void; onDiscard: () => void }) {
  const { error, waits } = message;
  const waiting = useWillSend();
  return (
    <li data-way="out" data-ends data-pending={error ? 'failed' : waits ? 'waiting' : 'sending'}>
      <Bubble text={message.text} way="out" />
      {error ? (
        <p className="bubble-problem" role="alert">
          {notSent(error)}{' '}
          {advise(error).retry && (
            <button type="button" className="link" onClick={onRetry}>
              {t.tryAgain}
            </button>
          )}{' '}
          <button type="button" className="link" onClick={onDiscard}>
            {t.discard}
          </button>
        </p>
      ) : waits ? (
        <p className="bubble-problem" role="status">
          {waiting}{' '}
          <button type="button" className="link" onClick={onDiscard}>
            {t.discard}
          </button>
        </p>
      ) : (
        <span className="bubble-at">{t.sending}</span>
      )}
    </li>
  );
}

function Bubble({ text, way }: { text: string; way: 'in' | 'out' }) {
  const clip = clipIn(text);
  const rest = clip ? text.replace(clip.address, '').trim() : text;
  return (
    <div className="bubble" data-way={way}>
      {clip && <ClipLink id={clip.id} />}
      {rest && (
        <p className="bubble-text" dir="auto">
          {rest}
        </p>
      )}
    </div>
  );
}

// ClipLink shows a clip that a message links to.
function ClipLink({ id }: { id: string }) {
  const { connection } = useSession();
  const clip = useStore(connection.clips.of(id));
  return (
    <a className="bubble-clip" href={links.clip(id)}>
      {clip ? <img src={clip.coverUrl} alt="" /> : <span className="bubble-no-cover" />}
      <span>
        <Icon name="play" filled />
        {clip === null ? t.clips.deleted : (clip?.title ?? t.clips.unknown)}
      </span>
    </a>
  );
}
