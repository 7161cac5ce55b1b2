import { memo, useEffect, useRef, useState } from 'react';
import { isKnown } from '../api/freshness';
import { useStore } from '../api/store';
import { t } from '../messages';
import type { ClipFragment } from '../operations';
import { links } from '../route';
import { useSession } from '../session';
import { useActions, type Actions } from './actions';
import { Ago } from './ago';
import { Avatar } from './avatar';
import { ClipDelete } from './clip-delete';
import { ClipShare } from './clip-share';
import { Comments } from './comments';
import { CommentsBeside, talk, toggleTalk, useWide } from './comments-beside';
import { FolderPicker } from './folder-picker';
import { FollowButton } from './follow-button';
import { Icon } from './icons';
import { LikeButton } from './like-button';
import { nameOf } from './name';
import { Player } from './player';
import { sound } from './playback';
import { useReadOnView } from './read-on-view';
import { RollingNumber } from './rolling-number';
import { openLogin } from './viewer-dialog';
import { useWaiting } from './will-send';

interface Props {
  readonly clip: ClipFragment;
  readonly place: number; // position in the feed, from 1
  readonly active: boolean; // whether this clip is in view
  readonly near: boolean; // whether it is next to the clip in view
  readonly alone?: boolean; // whether it is shown outside the feed
  readonly onShow: (id: string) => void;
}

const inView = 0.6; // share of a clip that must be visible

// Clip is one video of the feed with its actions.
export const Clip = memo(function Clip({ clip, place, active, near, alone = false, onShow }: Props) {
  const element = useRef<HTMLElement>(null);
  const title = `clip-${clip.videoId}`;
  const { userId } = useSession();
  const { card: counts } = useWaiting(clip.interactive);
  const actions = useActions(counts, clip.title);
  const like = () => {
    if (userId === null) openLogin();
    else if (counts.liked?.reaction !== 'LIKE') actions.react('LIKE', true);
  };
  useReadOnView(element, clip.interactive);
  useEffect(() => {
    const observer = new IntersectionObserver((changes) => changes.at(-1)!.intersectionRatio >= inView && onShow(clip.id), { threshold: inView });
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, [clip.id, onShow]);
  return (
    <article
      className="clip clip-frame"
      ref={element}
      tabIndex={-1}
      data-clip={clip.id}
      aria-labelledby={title}
      aria-posinset={place}
      aria-setsize={alone ? 1 : -1}
      data-subject={`video/${clip.videoId}`}
    >
      <div className="clip-stage">
        <Player title={clip.title} playUrl={clip.playUrl} coverUrl={clip.coverUrl} active={active} near={near} onLike={like} />
        <Words clip={clip} id={title} />
        <Sound />
      </div>
      <Rail clip={clip} counts={counts} alone={alone} active={active} actions={actions} />
    </article>
  );
});

function Words({ clip: { author, title, at }, id }: { clip: ClipFragment; id: string }) {
  const name = nameOf(author);
  return (
    <div className="clip-words">
      <p className="clip-author">
        <a className="person-name" href={links.person(author.userId)}>
          <Avatar name={name} picture={author.profile?.avatarUrl} size="small" />
          <span>{name}</span>
        </a>
        <FollowButton person={author.interactive} plain />
      </p>
      <h2 className="clip-title" id={id} dir="auto">
        {title}
      </h2>
      <p className="clip-at">
        <Ago at={at} />
      </p>
    </div>
  );
}

function Sound() {
  const on = useStore(sound);
  return (
    <button type="button" className="clip-sound" aria-pressed={on} aria-label={t.clips.sound} onClick={() => sound.set(!on)}>
      <Icon name={on ? 'sound' : 'mute'} />
    </button>
  );
}

interface RailProps extends Pick<Props, 'clip' | 'active'> {
  readonly counts: ClipFragment['interactive']; // with what waits to be sent
  readonly alone: boolean;
  readonly actions: Actions;
}

function Rail({ clip, counts, alone, active, actions }: RailProps) {
  const { userId } = useSession();
  const { interactive: confirmed, title } = clip;
  const [open, setOpen] = useState<'folders' | 'comments' | 'share' | 'delete'>();
  const close = () => setOpen(undefined);
  const wide = useWide();
  const beside = useStore(talk) && wide;
  const comments = { subject: counts, title, count: counts.commentCount, author: clip.author.userId };
  const own = (what: typeof open) => () => (userId === null ? openLogin() : setOpen(what));
  const collects = isKnown(counts.freshness) ? counts.collectCount : undefined;
  return (
    <div className="clip-rail" role="group" aria-label={t.actions.of(title)}>
      <LikeButton subject={confirmed} title={title} counts={confirmed} />
      <button
        type="button"
        className="action talk"
        aria-haspopup="dialog"
        aria-expanded={wide ? beside && active : undefined}
        aria-label={t.actions.comments(counts.commentCount)}
        onClick={() => (wide ? toggleTalk() : setOpen('comments'))}
      >
        <Icon name="talk" />
        <RollingNumber value={counts.commentCount} />
      </button>
      <button
        type="button"
        className="action collect"
        aria-pressed={Boolean(counts.collected)}
        aria-haspopup="dialog"
        aria-label={t.actions.collect(collects)}
        onClick={own('folders')}
      >
        <Icon name="collect" filled={Boolean(counts.collected)} />
        <RollingNumber value={collects} />
      </button>
      <button type="button" className="action share" aria-haspopup="dialog" aria-label={t.actions.share} onClick={() => setOpen('share')}>
        <Icon name="send" />
      </button>
      {clip.author.userId === userId && (
        <button type="button" className="action" aria-haspopup="dialog" aria-label={t.clips.delete} onClick={() => setOpen('delete')}>
          <Icon name="bin" />
        </button>
      )}
      {open === 'folders' && <FolderPicker title={title} current={counts.collected?.folder.id} actions={actions} onClose={close} />}
      {open === 'comments' && !wide && <Comments {...comments} onClose={close} />}
      {beside && active && <CommentsBeside {...comments} />}
      {open === 'share' && <ClipShare clip={clip} onClose={close} />}
      {open === 'delete' && <ClipDelete clip={clip} alone={alone} onClose={close} />}
    </div>
  );
}
