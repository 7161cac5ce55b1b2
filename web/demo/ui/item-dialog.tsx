import { isKnown } from '../api/freshness';
import { topics, type Item } from '../content/catalogue';
import type { ItemFragment } from '../operations';
import { CardActions } from './card-actions';
import { CardAuthor } from './card-author';
import { Count, Discussion } from './comments';
import { Cover } from './cover';
import { Dialog } from './dialog';
import { inFull } from './rolling-number';

interface Props {
  readonly item: Item;
  readonly counts: ItemFragment | undefined;
  readonly comments: number | undefined; // their number, if known
  readonly onClose: () => void;
}

// ItemDialog shows one item beside its comments.
export function ItemDialog({ item, counts, comments, onClose }: Props) {
  const reads = counts && isKnown(counts.freshness) ? `${inFull(counts.readCount)} ${counts.readCount === 1 ? 'read' : 'reads'}` : 'reads unavailable';
  return (
    <Dialog title={item.title} shape="sheet" onClose={onClose}>
      <div className="sheet-item">
        <div className="sheet-picture">
          <Cover item={item} />
        </div>
        <p className="card-topic">
          {topics[item.topic]}, {item.minutes} min
          <span>{reads}</span>
        </p>
        <CardAuthor author={counts?.author} onLeave={onClose} />
        <CardActions item={item} counts={counts} talk={false} />
        <p className="hint">
          Titles, texts and pictures come from the content service of an app. Ovation knows this one as{' '}
          <code>
            {item.biz}/{item.bizId}
          </code>
          .
        </p>
      </div>
      <section className="sheet-talk" aria-label="Comments">
        <h3>
          Comments <Count comments={comments} />
        </h3>
        <Discussion subject={item} author={counts?.author?.userId} onLeave={onClose} />
      </section>
    </Dialog>
  );
}
