import type { CombinedError } from '@urql/core';
import { useEffect, useRef } from 'react';
import { useClient } from 'urql';
import { advise, unreached } from '../api/advice';
import { requestId } from '../api/request-id';
import { useStore, type Store } from '../api/store';
import type { Subject } from '../api/subject';
import { t } from '../messages';
import { AddCommentDocument, type AddCommentInput, type CommentFragment } from '../operations';
import { useSession } from '../session';
import { CommentForm } from './comment-form';
import { afterSending, type Draft } from './drafts';
import { Icon } from './icons';
import { nameOf } from './name';
import { announce } from './notices';
import { openLogin } from './viewer-dialog';

interface Props {
  readonly subject: Subject;
  readonly draft: Store<Draft>;
  readonly onAdded: (comment: CommentFragment) => void;
}

// Composer is the form for a new comment. It keeps the request id until the comment
// changes, so that one sent again after an error is added only once. The field can be
// edited while a comment is being sent. A comment that the server does not respond to waits in
// the outbox, see PendingComments.
export function Composer({ subject: { biz, bizId }, draft, onAdded }: Props) {
  const { known, userId, connection } = useSession();
  const client = useClient();
  const { text, replyTo, busy, problem } = useStore(draft);
  const field = useRef<HTMLTextAreaElement>(null);
  const change = (to: Partial<Draft>) => draft.set({ ...draft.get(), ...to });

  useEffect(() => {
    if (replyTo) field.current?.focus();
  }, [replyTo]);

  const wait = (input: AddCommentInput, error?: CombinedError) => {
    connection.outbox.comment(input, error);
    draft.set(afterSending(draft.get(), input));
  };
  const send = async (text: string) => {
    const before = draft.get().sent;
    const content = { biz, bizId, text, ...(replyTo && { replyTo: replyTo.id }) };
    const same = before?.text === text && before.replyTo === content.replyTo;
    const input = same ? before : { ...content, requestId: requestId() };
    if (!navigator.onLine) return wait(input);
    change({ sent: input, busy: true });
    const { data, error } = await client.mutation(AddCommentDocument, { input }).toPromise();
    if (error && unreached(error)) return wait(input, error);
    if (error || !data) return change({ busy: false, problem: error ? advise(error).text : '' });
    draft.set(afterSending(draft.get(), input));
    onAdded(data.addComment.comment);
    announce(t.comments.added);
  };

  if (!known) return null;
  if (userId === null) {
    return (
      <p className="comment-form">
        <button type="button" className="button strong" onClick={openLogin}>
          {t.comments.logIn}
        </button>
      </p>
    );
  }
  return (
    <CommentForm
      label={replyTo ? t.comments.replyTo(replyTo.author && nameOf(replyTo.author)) : t.comments.add}
      text={text}
      send={t.comments.send}
      busy={busy}
      problem={problem}
      field={field}
      onChange={(text) => change({ text })}
      onSend={(text) => {
        field.current?.focus(); // the button is about to be disabled
        void send(text);
      }}
    >
      {replyTo && (
        <p className="replying">
          {t.comments.aReplyTo(replyTo.author && nameOf(replyTo.author))}
          <button
            type="button"
            className="plain"
            aria-label={t.comments.noReply}
            onClick={() => {
              field.current?.focus();
              change({ replyTo: null });
            }}
          >
            <Icon name="close" />
          </button>
        </p>
      )}
    </CommentForm>
  );
}
