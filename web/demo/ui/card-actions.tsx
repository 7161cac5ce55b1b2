import { useState } from 'react';
import { isKnown } from '../api/freshness';
import type { Item } from '../content/catalogue';
import { t } from '../messages';
import type { ItemFragment } from '../operations';
import { useSession } from '../session';
import { useActions } from './actions';
import { Comments } from './comments';
import { FolderPicker } from './folder-picker';
import { Icon } from './icons';
import { LikeButton } from './like-button';
import { RollingNumber } from './rolling-number';
import { openLogin } from './viewer-dialog';
import { useWaiting } from './will-send';

interface Props {
  readonly item: Item;
  readonly counts: ItemFragment | undefined;
  readonly comments?: number | undefined; // their number, if known
  readonly talk?: boolean; // whether there is a button for the comments
}

// CardActions are the buttons for the viewer's actions on an item.
export function CardActions({ item, counts: confirmed, comments, talk = true }: Props) {
  const { userId } = useSession();
  const actions = useActions(item, item.title);
  const { card: counts } = useWaiting(confirmed);
  const [picking, setPicking] = useState(false);
  const [talking, setTalking] = useState(false);

  const known = counts && isKnown(counts.freshness) ? counts : undefined;
  const reaction = counts?.liked?.reaction;
  const own = (act: () => void) => () => (userId === null ? openLogin() : act());

  return (
    <div className="card-actions" role="group" aria-label={t.actions.of(item.title)}>
      <LikeButton subject={item} title={item.title} counts={confirmed} />
      <button
        type="button"
        className="action dislike"
        disabled={!counts}
        aria-pressed={reaction === 'DISLIKE'}
        aria-label={t.actions.dislike(known?.dislikeCount)}
        onClick={own(() => actions.react('DISLIKE', reaction !== 'DISLIKE'))}
      >
        <Icon name="down" filled={reaction === 'DISLIKE'} />
        <RollingNumber value={known?.dislikeCount} />
      </button>
      <button
        type="button"
        className="action collect"
        disabled={!counts}
        aria-pressed={Boolean(counts?.collected)}
        aria-haspopup="dialog"
        aria-label={t.actions.collect(known?.collectCount)}
        onClick={own(() => setPicking(true))}
      >
        <Icon name="collect" filled={Boolean(counts?.collected)} />
        <RollingNumber value={known?.collectCount} />
      </button>
      {talk && (
        <button
          type="button"
          className="action talk"
          aria-haspopup="dialog"
          aria-label={t.actions.comments(comments)}
          onClick={() => setTalking(true)}
        >
          <Icon name="talk" />
          <RollingNumber value={comments} />
        </button>
      )}
      {counts && (counts.freshness === 'STALE' || counts.freshness === 'UNAVAILABLE') && <FreshnessMark freshness={counts.freshness} />}
      {picking && <FolderPicker title={item.title} current={counts?.collected?.folder.id} actions={actions} onClose={() => setPicking(false)} />}
      {talking && <Comments subject={item} title={item.title} count={comments} author={counts?.author?.userId} onClose={() => setTalking(false)} />}
    </div>
  );
}

// FreshnessMark marks counts that are not LIVE.
function FreshnessMark({ freshness }: { freshness: 'STALE' | 'UNAVAILABLE' }) {
  const text = freshness === 'STALE' ? t.link.markStale : t.link.markUnavailable;
  return (
    <span className="freshness-mark" title={text}>
      <Icon name="clock" />
      <span className="unseen">{t.sentence(text)}</span>
    </span>
  );
}
