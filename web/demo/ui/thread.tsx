import { useEffect, useMemo, useRef, useState } from 'react';
import { backoff } from '@ovation/client';
import { useClient, useSubscription } from 'urql';
import { ask } from '../api/ask';
import type { Subject } from '../api/subject';
import { t } from '../messages';
import {
  CommentsChangedDocument,
  CommentsDocument,
  LiveDocument,
  RepliesDocument,
  type CommentFragment,
  type CommentOrder,
  type CommentsQuery,
  type RepliesQuery,
} from '../operations';
import { useSession } from '../session';
import { CommentItem } from './comment';
import { nameOf } from './name';
import { announce } from './notices';
import { Pages } from './pages';

export type Order = CommentOrder;

const atOnce = 20;

interface Props {
  readonly subject: Subject;
  readonly order: Order;
  readonly answered: string | undefined; // id of the comment whose replies are opened
  readonly host: string | undefined; // the subject's author, who may delete what others say
  readonly onReply: (to: CommentFragment) => void;
  readonly onLeave: () => void; // called when a link leads to another view
}

// Thread shows the comments on a subject, page by page.
export function Thread({ subject: { biz, bizId }, order, ...rest }: Props) {
  const variables = (after: string | null) => ({ biz, bizId, order, first: atOnce, after });
  return (
    <Pages
      label={t.more.comments}
      auto
      query={CommentsDocument}
      variables={variables}
      info={(data) => data.interactive.comments.pageInfo}
      page={({ data, first }) => (
        <>
          {first && data && <Changes subject={{ biz, bizId }} order={order} page={data} />}
          {first && data?.interactive.comments.edges.length === 0 && <p className="thread-empty">{t.comments.none}</p>}
          <CommentList {...rest} comments={data?.interactive.comments.edges.map(({ node }) => node)} />
        </>
      )}
    />
  );
}

// Replies shows the replies to one comment, oldest first.
export function Replies({ to, ...rest }: { to: CommentFragment } & Pick<Props, 'host' | 'onLeave'>) {
  return (
    <Pages
      label={t.more.replies}
      query={RepliesDocument}
      variables={(after) => ({ id: to.id, first: atOnce, after })}
      info={(data) => repliesIn(data)?.pageInfo}
      page={({ data }) => <CommentList {...rest} comments={repliesIn(data)?.edges.map(({ node }) => node)} />}
    />
  );
}

const repliesIn = (data: RepliesQuery | undefined) => (data?.node && 'replies' in data.node ? data.node.replies : undefined);

type ListProps = Pick<Props, 'host' | 'onLeave'> & Partial<Pick<Props, 'answered' | 'onReply'>> & { readonly comments: readonly CommentFragment[] | undefined };

// CommentList shows comments, with live counts of their likes.
function CommentList({ comments, answered, ...rest }: ListProps) {
  const { known } = useSession();
  const ids = comments?.map((comment) => comment.commentId).join(' ') ?? '';
  const subjects = useMemo(() => ids.split(' ').filter(Boolean).map((bizId) => ({ biz: 'comment', bizId })).slice(0, 100), [ids]);
  useSubscription({ query: LiveDocument, variables: { subjects }, pause: !known || subjects.length === 0 });

  // A comment that arrives after the list is shown as new.
  const early = useRef<ReadonlySet<string>>();
  if (comments) early.current ??= new Set(comments.map((comment) => comment.id));
  if (!comments || comments.length === 0) return null;
  return (
    <ol className="comments">
      {comments.map((comment) => (
        <CommentItem key={comment.id} {...rest} comment={comment} fresh={!early.current?.has(comment.id)} answered={comment.id === answered} />
      ))}
    </ol>
  );
}

// Changes subscribes to the changes of the comments, starting from the first page. If the
// server ends the stream, the page is refetched, with the new position to start from.
function Changes({ subject: { biz, bizId }, order, page }: { subject: Subject; order: Order; page: CommentsQuery }) {
  const client = useClient();
  const { known, userId } = useSession();
  const after = page.interactive.comments.changesCursor;
  const [{ data, error }, again] = useSubscription({ query: CommentsChangedDocument, variables: { biz, bizId, after }, pause: !known });

  const event = data?.commentsChanged;
  const [announced, setAnnounced] = useState(event?.cursor);
  useEffect(() => {
    if (!event || event.cursor === announced) return;
    setAnnounced(event.cursor);
    const { author } = event.comment;
    if (event.kind === 'ADDED' && author && author.userId !== userId) announce(t.comments.by(nameOf(author)));
  }, [event, announced, userId]);

  const ends = useRef(0); // how often, since the last event
  if (event) ends.current = 0;
  useEffect(() => {
    if (!error) return undefined;
    let end: (() => void) | undefined;
    const timer = setTimeout(() => {
      end = ask(client, CommentsDocument, { biz, bizId, order, first: atOnce, after: null }, ({ data: fresh }) => {
        if (fresh) again();
        return Boolean(fresh);
      });
    }, backoff(ends.current++));
    return () => {
      clearTimeout(timer);
      end?.();
    };
  }, [error, again, client, biz, bizId, order]);
  return null;
}
