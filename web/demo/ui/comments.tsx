import { useState } from 'react';
import { useClient } from 'urql';
import { useStore } from '../api/store';
import type { Subject } from '../api/subject';
import { t } from '../messages';
import type { CommentFragment } from '../operations';
import { useSession } from '../session';
import { Composer } from './composer';
import { Dialog } from './dialog';
import { draftOf } from './drafts';
import { PendingComments } from './pending-comments';
import { Thread, type Order } from './thread';

const orders: readonly Order[] = ['TOP', 'NEWEST', 'OLDEST'];

interface Props {
  readonly subject: Subject;
  readonly title: string;
  readonly count: number | undefined; // their number, if known
  readonly author: string | undefined; // author of the subject
  readonly beside?: 'focused' | 'unfocused'; // see Dialog
  readonly onClose: () => void;
}

// Comments is the drawer with the comments on a subject.
export function Comments({ subject, title, count, author, beside, onClose }: Props) {
  return (
    <Dialog title={<>{t.comments.title} <Count comments={count} /></>} shape="drawer" {...(beside && { beside })} onClose={onClose}>
      <p className="picker-what">{title}</p>
      <Discussion subject={subject} author={author} onLeave={onClose} />
    </Dialog>
  );
}

// Count shows the number of comments, if known.
export function Count({ comments }: { comments: number | undefined }) {
  return comments === undefined ? null : <span className="thread-count">{t.format.number(comments)}</span>;
}

interface TalkProps extends Pick<Props, 'subject' | 'author'> {
  readonly onLeave: () => void; // called when a link leads to another view
}

// Discussion shows the comments on a subject and the form for a new one. Comments of others
// appear as they are added.
export function Discussion({ subject, author, onLeave }: TalkProps) {
  const draft = draftOf(useClient(), subject);
  const live = useStore(useSession().connection.status).state === 'live';
  const [order, setOrder] = useState<Order>('TOP');
  const [answered, setAnswered] = useState<string>(); // the comment with the viewer's last reply
  const added = ({ parent }: CommentFragment) => {
    setAnswered(parent?.id);
    if (!parent) setOrder('NEWEST'); // which shows the new comment
  };
  return (
    <>
      <fieldset className="orders">
        <legend className="unseen">{t.comments.order}</legend>
        {orders.map((value) => (
          <label key={value}>
            <input type="radio" name="order" checked={value === order} onChange={() => setOrder(value)} />
            {t.comments.orders[value]}
          </label>
        ))}
      </fieldset>
      <div className="thread" role="region" aria-label={t.comments.list} tabIndex={0}>
        {!live && (
          <p className="freshness-note" role="status">
            {t.link.newComments}
          </p>
        )}
        <Thread
          key={order}
          subject={subject}
          order={order}
          answered={answered}
          host={author}
          onReply={(replyTo) => draft.set({ ...draft.get(), replyTo })}
          onLeave={onLeave}
        />
      </div>
      <PendingComments subject={subject} />
      <Composer subject={subject} draft={draft} onAdded={added} />
    </>
  );
}
