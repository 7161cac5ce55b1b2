import { t } from '../messages';
import type { CardFragment } from '../operations';
import { Icon } from './icons';

// FreshnessNote says that some counts on the page are not LIVE, if so.
export function FreshnessNote({ cards }: { cards: readonly CardFragment[] }) {
  const unknown = cards.filter((card) => card.freshness === 'UNAVAILABLE').length;
  const stale = cards.filter((card) => card.freshness === 'STALE').length;
  if (unknown + stale === 0) return null;
  return (
    <p className="freshness-note" role="status">
      <Icon name="clock" />
      {unknown > 0 ? t.link.countsUnavailable : t.link.countsStale}
    </p>
  );
}
