import { useCallback, useEffect, useMemo, useState } from 'react';
import { useQuery } from 'urql';
import { isKnown } from '../api/freshness';
import { feed, type Item } from '../content/catalogue';
import { t } from '../messages';
import { FeedDocument, type ItemFragment } from '../operations';
import { useSession } from '../session';
import { Failed, More } from '../ui/pages';
import { LiveCards } from '../ui/live-cards';
import { FreshnessNote } from '../ui/freshness-note';
import { Marked } from '../ui/marked';
import { RollingNumber } from '../ui/rolling-number';
import type { Shape } from '../ui/card';

const atOnce = 20;

// Feed shows all items, twenty at a time: one query per page.
export function Feed() {
  const [pages, setPages] = useState(1);
  const [counts, setCounts] = useState<ReadonlyMap<number, readonly ItemFragment[]>>(new Map());
  const report = useCallback((page: number, cards: readonly ItemFragment[]) => setCounts((before) => new Map(before).set(page, cards)), []);
  const all = [...counts.values()].flat();
  return (
    <>
      <header className="intro">
        <div>
          <h1>{t.titles.browse}</h1>
          <Hint />
        </div>
        <Tally cards={all} />
      </header>
      <FreshnessNote cards={all} />
      {Array.from({ length: pages }, (_, page) => (
        <FeedPage key={page} number={page} onCards={report} />
      ))}
      {pages * atOnce < feed.length && <More key={pages} label={t.more.items} auto busy={false} onMore={() => setPages(pages + 1)} />}
    </>
  );
}

function FeedPage({ number, onCards }: { number: number; onCards: (page: number, cards: readonly ItemFragment[]) => void }) {
  const { known } = useSession();
  const items = useMemo(() => feed.slice(number * atOnce, (number + 1) * atOnce), [number]);
  const subjects = useMemo(() => items.map(({ biz, bizId }: Item) => ({ biz, bizId })), [items]);
  const [{ data, error }, again] = useQuery({ query: FeedDocument, variables: { subjects }, requestPolicy: 'cache-and-network', pause: !known });
  const cards = data?.interactives;
  useEffect(() => {
    if (cards) onCards(number, cards);
  }, [cards, number, onCards]);
  const retry = () => again({ requestPolicy: 'network-only' });
  return (
    <section aria-label={t.items.page(number + 1)}>
      {error && !cards && <Failed error={error} onAgain={retry} />}
      <LiveCards subjects={items} cards={cards} shape={shapeOf} />
    </section>
  );
}

// shapeOf makes twenty cards, four of them two columns wide, fill whole rows of two, three or
// four.
function shapeOf(place: number): Shape {
  return place === 0 ? 'lead' : place % 5 === 0 ? 'wide' : 'plain';
}

function Hint() {
  const { userId, tokensOnly } = useSession();
  if (tokensOnly) return <p>{t.items.hint}</p>;
  const other = userId === 'bob' ? 'carol' : 'bob';
  return (
    <p>
      <Marked text={t.items.hintAs(other)}>
        {(part) => (
          <a href={`#user=${other}`} target="_blank" rel="noopener">
            {part}
          </a>
        )}
      </Marked>
    </p>
  );
}

// Tally sums up the counts on the page, unless some are unavailable.
function Tally({ cards }: { cards: readonly ItemFragment[] }) {
  const known = cards.length > 0 && cards.every((card) => isKnown(card.freshness));
  const sum = (of: (card: ItemFragment) => number) => (known ? cards.reduce((total, card) => total + of(card), 0) : undefined);
  const rows = [
    [t.items.likes, sum((card) => card.likeCount)],
    [t.items.collected, sum((card) => card.collectCount)],
    [t.items.reads, sum((card) => card.readCount)],
  ] as const;
  return (
    <dl className="tally" aria-label={t.items.onThisPage}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <RollingNumber value={value} />
            <span className="unseen">{value === undefined ? t.unavailable : t.format.number(value)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
