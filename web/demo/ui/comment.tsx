import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { t } from '../messages';
import type { CommentFragment } from '../operations';
import { links } from '../route';
import { useSession } from '../session';
import { Ago } from './ago';
import { Avatar } from './avatar';
import { useCommentActions } from './comment-actions';
import { CommentForm } from './comment-form';
import { Icon } from './icons';
import { LikeButton } from './like-button';
import { nameOf } from './name';
import { Replies } from './thread';

interface Props {
  readonly comment: CommentFragment;
  readonly fresh: boolean; // whether it arrived while the list was open
  readonly answered: boolean; // whether the viewer has just replied to it
  readonly host: string | undefined; // author of the subject
  readonly onReply?: (to: CommentFragment) => void; // omitted for replies
  readonly onLeave: () => void;
}

// CommentItem shows one comment and, on request, its replies.
export function CommentItem({ fresh, answered, ...said }: Props) {
  const { comment, host, onLeave } = said;
  const { userId } = useSession();
  const [open, setOpen] = useState(false);
  const element = useRef<HTMLLIElement>(null);
  const author = comment.author?.userId ?? null;
  const comesIntoView = fresh && author !== null && author === userId;
  useEffect(() => {
    if (comesIntoView) element.current?.scrollIntoView({ block: 'nearest' });
  }, [comesIntoView]);
  useEffect(() => {
    if (answered) setOpen(true);
  }, [answered]);
  useLayoutEffect(() => {
    const item = element.current!;
    return () => passFocusOn(item);
  }, []);
  return (
    <li ref={element} className="comment" tabIndex={-1} data-fresh={fresh || undefined} data-comment={comment.commentId}>
      <Avatar name={comment.author && nameOf(comment.author)} picture={comment.author?.profile?.avatarUrl} size="small" />
      <div className="comment-body">
        {comment.deleted ? <p className="comment-deleted">{t.comments.deleted}</p> : <CommentBody {...said} />}
        {comment.replyCount > 0 && (
          <button type="button" className="comment-more" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Icon name="more" />
            {(open ? t.comments.hideReplies : t.comments.showReplies)(comment.replyCount)}
          </button>
        )}
        {open && <Replies to={comment} host={host} onLeave={onLeave} />}
      </div>
    </li>
  );
}

type Doing = 'edit' | 'delete' | null;

function CommentBody({ comment, host, onReply, onLeave }: Omit<Props, 'fresh' | 'answered'>) {
  const { userId } = useSession();
  const actions = useCommentActions(comment);
  const [doing, setDoing] = useState<Doing>(null);
  const [done, setDone] = useState<Doing>(null); // the focus returns to the button of this one
  const stop = () => {
    setDone(doing);
    setDoing(null);
  };
  const author = comment.author?.userId ?? '';
  const name = comment.author ? nameOf(comment.author) : '';
  const own = author !== '' && author === userId;
  const mayDelete = own || (userId !== null && host === userId);
  return (
    <>
      <p className="comment-head">
        <a href={links.person(author)} onClick={onLeave}>
          {name}
        </a>
        {author === host && <span className="comment-host">{t.comments.author}</span>}
        <span className="facts">
          <Ago at={comment.at} />
          {comment.editedAt && t.comments.edited}
        </span>
      </p>
      {doing === 'edit' ? (
        <Edit
          text={actions.unsaved ?? comment.text}
          onCancel={stop}
          onSend={(text) => {
            stop();
            if (text !== comment.text) actions.edit(text);
          }}
        />
      ) : (
        <Text text={comment.text} />
      )}
      {doing !== 'edit' && (
        <div className="comment-actions" role="group" aria-label={t.actions.of(t.comments.of(name))}>
          <LikeButton subject={comment.interactive} title={t.comments.of(name)} counts={comment.interactive} />
          {onReply && userId !== null && (
            <button type="button" className="action" onClick={() => onReply(comment)}>
              {t.comments.reply}
            </button>
          )}
          {own && doing === null && (
            <button type="button" className="action" autoFocus={done === 'edit'} onClick={() => setDoing('edit')}>
              {t.edit}
            </button>
          )}
          {mayDelete && doing === null && (
            <button type="button" className="action" autoFocus={done === 'delete'} onClick={() => setDoing('delete')}>
              {t.delete}
            </button>
          )}
          {mayDelete && doing === 'delete' && (
            <>
              <button
                type="button"
                className="action strong"
                autoFocus
                onClick={(event) => {
                  focusComment(event.currentTarget);
                  actions.remove();
                }}
              >
                {t.deleteIt}
              </button>
              <button type="button" className="action" onClick={stop}>
                {t.keepIt}
              </button>
            </>
          )}
        </div>
      )}
    </>
  );
}

// Edit is the form that replaces the text while it is edited.
function Edit({ text: before, ...rest }: { text: string; onCancel: () => void; onSend: (text: string) => void }) {
  const [text, setText] = useState(before);
  return <CommentForm label={t.comments.yours} text={text} send={t.save} onChange={setText} {...rest} />;
}

// focusComment moves the focus from a button that is about to be removed to its comment.
function focusComment(button: HTMLElement): void {
  button.closest<HTMLElement>('.comment')?.focus();
}

// passFocusOn moves the focus from a comment that is about to be removed to the one next
// to it or, if there is none, to the comment that it replies to.
function passFocusOn(comment: HTMLElement): void {
  if (!comment.contains(document.activeElement)) return;
  const next = comment.nextElementSibling ?? comment.previousElementSibling ?? comment.parentElement?.closest('.comment, .thread');
  if (next instanceof HTMLElement) next.focus();
}

const long = { characters: 600, lines: 10 };

// Text shows a user's text in its own direction, clipped to its lines, and shortened if
// it is long.
function Text({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && (text.length > long.characters || text.split('\n').length > long.lines);
  return (
    <>
      <p className="comment-text" dir="auto" data-cut={cut || undefined}>
        {text}
      </p>
      {cut && (
        <button
          type="button"
          className="comment-more"
          onClick={(event) => {
            focusComment(event.currentTarget);
            setWhole(true);
          }}
        >
          {t.comments.showAll}
        </button>
      )}
    </>
  );
}
