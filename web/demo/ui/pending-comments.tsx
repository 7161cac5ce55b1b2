import { advise, notSent } from '../api/advice';
import type { PendingComment } from '../api/outbox';
import { useStore } from '../api/store';
import { keyOf, type Subject } from '../api/subject';
import { t } from '../messages';
import { useSession } from '../session';
import { useWillSend } from './will-send';

// PendingComments shows the viewer's comments on a subject that wait to be sent or have
// failed.
export function PendingComments({ subject }: { subject: Subject }) {
  const { outbox } = useSession().connection;
  const waiting = useWillSend();
  const pending = useStore(outbox.pending).filter((one): one is PendingComment => one.kind === 'comment' && keyOf(one.input) === keyOf(subject));
  if (pending.length === 0) return null;
  return (
    <ul className="pending-comments" aria-label={t.comments.toBeSent}>
      {pending.map((one) => (
        <li key={one.requestId}>
          <p className="comment-text" dir="auto">
            {one.input.text}
          </p>
          <p className={one.error ? 'problem' : 'hint'} role="status">
            {one.error ? notSent(one.error) : one.waits ? waiting : t.sending}{' '}
            {one.error && advise(one.error).retry && (
              <button type="button" className="link" onClick={() => outbox.retry(one)}>
                {t.tryAgain}
              </button>
            )}{' '}
            {(one.error || one.waits) && (
              <button type="button" className="link" onClick={() => outbox.discard(one)}>
                {t.discard}
              </button>
            )}
          </p>
        </li>
      ))}
    </ul>
  );
}
