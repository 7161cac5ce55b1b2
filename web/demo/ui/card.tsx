import { memo, useRef, useState } from 'react';
import { find, topics } from '../content/catalogue';
import type { Subject } from '../api/subject';
import type { CardFragment } from '../operations';
import { useSession } from '../session';
import { useActions } from './actions';
import { Cover } from './cover';
import { FolderPicker } from './folder-picker';
import { Icon } from './icons';
import { inFull, RollingNumber } from './rolling-number';
import { useReadOnView } from './read-on-view';
import { askWho } from './viewer-dialog';

export type Shape = 'lead' | 'wide' | 'plain';

// Card shows a subject: what it is, and below it what was done with it. The
// counts may come later than the rest.
export const Card = memo(function Card({ biz, bizId, counts, shape = 'plain' }: Subject & { counts: CardFragment | undefined; shape?: Shape }) {
  const item = find(biz, bizId);
  const element = useRef<HTMLElement>(null);
  useReadOnView(element, item);
  const title = `card-${biz}-${bizId}`;
  const video = biz === 'video';
  return (
    <article className="card" data-shape={shape} ref={element} aria-labelledby={title} data-subject={`${biz}/${bizId}`}>
      <div className="card-picture">
        <Cover item={item} />
        <span className="card-length">
          {video && <Icon name="play" filled />}
          {item.minutes} min{video ? '' : ' read'}
        </span>
      </div>
      <p className="card-topic">
        {topics[item.topic]}
        {counts?.collected && <span className="card-folder">in {counts.collected.folder.name}</span>}
      </p>
      <h2 className="card-title" id={title}>
        {item.title}
      </h2>
      <CardActions item={item} counts={counts} />
    </article>
  );
});

function CardActions({ item, counts }: { item: ReturnType<typeof find>; counts: CardFragment | undefined }) {
  const { userId } = useSession();
  const actions = useActions(item, item.title);
  const [picking, setPicking] = useState(false);
  const [claps, setClaps] = useState(0);

  // Zeros in place of what is not known are not shown.
  const sure = counts && counts.freshness !== 'UNAVAILABLE' ? counts : undefined;
  const reaction = counts?.liked?.reaction;
  const own = (act: () => void) => () => (userId === null ? askWho() : act());

  return (
    <div className="card-actions" role="group" aria-label={`What to do with ${item.title}`}>
      <button
        type="button"
        className="action like"
        disabled={!counts}
        aria-pressed={reaction === 'LIKE'}
        aria-label={`Like${spoken(sure?.likeCount, 'like')}`}
        onClick={own(() => {
          if (reaction !== 'LIKE') setClaps(claps + 1);
          actions.react('LIKE', reaction !== 'LIKE');
        })}
      >
        <span className="action-mark">
          <Icon name="heart" filled={reaction === 'LIKE'} />
          {claps > 0 && reaction === 'LIKE' && <Burst key={claps} />}
        </span>
        <RollingNumber value={sure?.likeCount} />
      </button>
      <button
        type="button"
        className="action dislike"
        disabled={!counts}
        aria-pressed={reaction === 'DISLIKE'}
        aria-label={`Dislike${spoken(sure?.dislikeCount, 'dislike')}`}
        onClick={own(() => actions.react('DISLIKE', reaction !== 'DISLIKE'))}
      >
        <Icon name="down" filled={reaction === 'DISLIKE'} />
        <RollingNumber value={sure?.dislikeCount} />
      </button>
      <button
        type="button"
        className="action keep"
        disabled={!counts}
        aria-pressed={Boolean(counts?.collected)}
        aria-haspopup="dialog"
        aria-label={`Keep in a folder${spoken(sure?.collectCount, 'keeper')}`}
        onClick={own(() => setPicking(true))}
      >
        <Icon name="keep" filled={Boolean(counts?.collected)} />
        <RollingNumber value={sure?.collectCount} />
      </button>
      <p className="card-reads">
        {counts && counts.freshness !== 'LIVE' && <Doubt freshness={counts.freshness} />}
        <Icon name="eye" />
        <RollingNumber value={sure?.readCount} />
        <span className="unseen">{sure ? `${inFull(sure.readCount)} reads` : 'reads not known'}</span>
      </p>
      {picking && <FolderPicker title={item.title} current={counts?.collected?.folder.id} actions={actions} onClose={() => setPicking(false)} />}
    </div>
  );
}

function spoken(count: number | undefined, unit: string): string {
  return count === undefined ? '' : `, ${inFull(count)} ${unit}${count === 1 ? '' : 's'}`;
}

// Doubt marks counts that are not as of now.
function Doubt({ freshness }: { freshness: 'STALE' | 'UNAVAILABLE' }) {
  const says = freshness === 'STALE' ? 'True a while ago' : 'Not known right now';
  return (
    <span className="doubt" title={says}>
      <Icon name="clock" />
      <span className="unseen">{says}.</span>
    </span>
  );
}

// Burst is the applause for one's own like.
function Burst() {
  return (
    <span className="burst" aria-hidden="true">
      {Array.from({ length: 8 }, (_, ray) => (
        <i key={ray} />
      ))}
    </span>
  );
}
