import { useState } from 'react';
import { isKnown } from '../api/freshness';
import type { Subject } from '../api/subject';
import { t } from '../messages';
import type { CardFragment } from '../operations';
import { useSession } from '../session';
import { useActions } from './actions';
import { Icon } from './icons';
import { RollingNumber } from './rolling-number';
import { openLogin } from './viewer-dialog';
import { useWaiting } from './will-send';

interface Props {
  readonly subject: Subject;
  readonly title: string;
  readonly counts: CardFragment | undefined;
}

// LikeButton likes or unlikes a card or a comment.
export function LikeButton({ subject, title, counts: confirmed }: Props) {
  const { userId } = useSession();
  const actions = useActions(subject, title);
  const [claps, setClaps] = useState(0);
  const { card: counts, waiting } = useWaiting(confirmed);
  const count = counts && isKnown(counts.freshness) ? counts.likeCount : undefined;
  const on = counts?.liked?.reaction === 'LIKE';
  const toggle = () => {
    if (userId === null) return openLogin();
    if (!on) setClaps(claps + 1);
    actions.react('LIKE', !on);
  };
  return (
    <button
      type="button"
      className="action like"
      disabled={!counts}
      aria-pressed={on}
      aria-label={t.withNote(t.actions.like(count), waiting)}
      title={waiting}
      data-waiting={waiting ? true : undefined}
      onClick={toggle}
    >
      <span className="action-mark">
        <Icon name="heart" filled={on} />
        {claps > 0 && on && <Burst key={claps} />}
      </span>
      <RollingNumber value={count} />
    </button>
  );
}

// Burst is the animation of the viewer's own like.
function Burst() {
  return (
    <span className="burst" aria-hidden="true">
      {Array.from({ length: 8 }, (_, ray) => (
        <i key={ray} />
      ))}
    </span>
  );
}
