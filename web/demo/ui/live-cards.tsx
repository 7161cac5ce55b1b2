import { useMemo } from 'react';
import { useSubscription } from 'urql';
import { keyOf, type Subject } from '../api/subject';
import { LiveDocument, type CardFragment } from '../operations';
import { useSession } from '../session';
import { Card, type Shape } from './card';

interface Props {
  readonly subjects: readonly Subject[];
  readonly cards: readonly CardFragment[] | undefined; // in any order
  readonly shape?: (place: number) => Shape;
}

// LiveCards shows a page of subjects, and hears of every change of their counts
// while it is shown. What it hears goes into the cache and comes back as cards.
export function LiveCards({ subjects, cards, shape }: Props) {
  const { known } = useSession();
  const asked = useMemo(() => subjects.map(({ biz, bizId }) => ({ biz, bizId })), [subjects]);
  useSubscription({ query: LiveDocument, variables: { subjects: asked }, pause: !known || asked.length === 0 });

  const byKey = new Map(cards?.map((card) => [keyOf(card), card]));
  return (
    <ol className="cards">
      {asked.map((subject, place) => (
        <li key={keyOf(subject)} data-shape={shape?.(place) ?? 'plain'}>
          <Card {...subject} counts={byKey.get(keyOf(subject))} shape={shape?.(place) ?? 'plain'} />
        </li>
      ))}
    </ol>
  );
}
