import type { CardFragment } from '../operations';
import { Icon } from './icons';

// Doubts says that some counts on the page are not LIVE, if so.
export function Doubts({ cards }: { cards: readonly CardFragment[] }) {
  const unknown = cards.filter((card) => card.freshness === 'UNAVAILABLE').length;
  const stale = cards.filter((card) => card.freshness === 'STALE').length;
  if (unknown + stale === 0) return null;
  return (
    <p className="doubts" role="status">
      <Icon name="clock" />
      {unknown > 0
        ? 'Some counts are not known right now: the service cannot reach its database. What you do is kept, or a notice says that it is not.'
        : 'Some counts were true a while ago. What has changed since comes when the service has caught up.'}
    </p>
  );
}
