import { memo, useRef, useState } from 'react';
import { isKnown } from '../api/freshness';
import type { Subject } from '../api/subject';
import { t } from '../messages';
import type { ItemFragment } from '../operations';
import { links } from '../route';
import { CardActions } from './card-actions';
import { CardAuthor } from './card-author';
import { folderName } from './folder-name';
import { Icon } from './icons';
import { useItem } from './item';
import { ItemDialog } from './item-dialog';
import { Picture } from './picture';
import { RollingNumber } from './rolling-number';
import { useReadOnView } from './read-on-view';

export type Shape = 'lead' | 'wide' | 'plain';

interface Props extends Subject {
  readonly counts: ItemFragment | undefined;
  readonly comments: number | undefined; // their number, if known
  readonly shape?: Shape;
}

// Card shows an item and, below it, the counts and buttons of its subject. The counts may
// arrive later than the rest. A click anywhere except on a button opens the item.
export const Card = memo(function Card({ biz, bizId, counts, comments, shape = 'plain' }: Props) {
  const { item, coverUrl } = useItem(biz, bizId);
  const element = useRef<HTMLElement>(null);
  const [open, setOpen] = useState(false);
  useReadOnView(element, item);
  const title = `card-${biz}-${bizId}`;
  const video = biz === 'video';
  const reads = counts && isKnown(counts.freshness) ? counts.readCount : undefined;
  return (
    <article className="card" data-shape={shape} ref={element} aria-labelledby={title} data-subject={`${biz}/${bizId}`}>
      <div className="card-picture">
        <Picture item={item} coverUrl={coverUrl} />
        <p className="card-badge card-reads">
          <Icon name="eye" />
          <RollingNumber value={reads} />
          <span className="unseen">{reads === undefined ? t.items.readsUnavailable : t.counts.reads(reads)}</span>
        </p>
        <span className="card-badge card-length">
          {video && <Icon name="play" filled />}
          {coverUrl !== undefined ? t.items.clip : video ? t.items.minutes(item.minutes) : t.items.minutesToRead(item.minutes)}
        </span>
      </div>
      <p className="card-topic">
        {coverUrl === undefined ? t.topics[item.topic] : t.clips.clip}
        {counts?.collected && (
          <a className="card-folder" href={links.folder(counts.collected.folder.id)}>
            {t.items.inFolder(folderName(counts.collected.folder))}
          </a>
        )}
      </p>
      <h2 className="card-title" id={title}>
        {coverUrl === undefined ? (
          <button type="button" className="card-open" aria-haspopup="dialog" onClick={() => setOpen(true)}>
            {item.title}
          </button>
        ) : (
          <a className="card-open" href={links.clip(bizId)}>
            {item.title}
          </a>
        )}
      </h2>
      <CardAuthor author={counts?.author} />
      <CardActions item={item} counts={counts} comments={comments} />
      {open && <ItemDialog item={item} counts={counts} comments={comments} onClose={() => setOpen(false)} />}
    </article>
  );
});
