import { isKnown } from '../api/freshness';
import type { Item } from '../content/catalogue';
import { t } from '../messages';
import type { ItemFragment } from '../operations';
import { CardActions } from './card-actions';
import { CardAuthor } from './card-author';
import { Count, Discussion } from './comments';
import { Cover } from './cover';
import { Dialog } from './dialog';
import { Marked } from './marked';

interface Props {
  readonly item: Item;
  readonly counts: ItemFragment | undefined;
  readonly comments: number | undefined; // their number, if known
  readonly onClose: () => void;
}

// ItemDialog shows one item beside its comments.
export function ItemDialog({ item, counts, comments, onClose }: Props) {
  const reads = counts && isKnown(counts.freshness) ? t.counts.reads(counts.readCount) : t.items.readsUnavailable;
  return (
    <Dialog title={item.title} shape="sheet" onClose={onClose}>
      <div className="sheet-item">
        <div className="sheet-picture">
          <Cover item={item} />
        </div>
        <p className="card-topic">
          {t.items.length(t.topics[item.topic], item.minutes)}
          <span>{reads}</span>
        </p>
        <CardAuthor author={counts?.author} onLeave={onClose} />
        <CardActions item={item} counts={counts} talk={false} />
        <p className="hint">
          <Marked text={t.items.source(`${item.biz}/${item.bizId}`)}>{(part) => <code>{part}</code>}</Marked>
        </p>
      </div>
      <section className="sheet-talk" aria-label={t.comments.title}>
        <h3>
          {t.comments.title} <Count comments={comments} />
        </h3>
        <Discussion subject={item} author={counts?.author?.userId} onLeave={onClose} />
      </section>
    </Dialog>
  );
}
