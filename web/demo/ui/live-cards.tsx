import { useMemo } from 'react';
import { useQuery, useSubscription } from 'urql';
import { keyOf, type Subject } from '../api/subject';
import { CommentCountsDocument, LiveDocument, type ItemFragment } from '../operations';
import { useSession } from '../session';
import { Card, type Shape } from './card';

interface Props {
  readonly subjects: readonly Subject[];
  readonly cards: readonly ItemFragment[] | undefined; // in any order
  readonly shape?: (place: number) => Shape;
}

// LiveCards shows a page of subjects and subscribes to their counts while it is shown.
// Events go into the cache and from there to the cards.
export function LiveCards({ subjects, cards, shape }: Props) {
  const { known } = useSession();
  const requested = useMemo(() => subjects.map(({ biz, bizId }) => ({ biz, bizId })), [subjects]);
  const pause = !known || requested.length === 0;
  useSubscription({ query: LiveDocument, variables: { subjects: requested }, pause });
  const [{ data }] = useQuery({ query: CommentCountsDocument, variables: { subjects: requested }, requestPolicy: 'cache-and-network', pause });

  const byKey = new Map(cards?.map((card) => [keyOf(card), card]));
  const comments = new Map(data?.interactives.map((subject) => [keyOf(subject), subject.commentCount]));
  return (
    <ol className="cards">
      {requested.map((subject, place) => (
        <li key={keyOf(subject)} data-shape={shape?.(place) ?? 'plain'}>
          <Card {...subject} counts={byKey.get(keyOf(subject))} comments={comments.get(keyOf(subject))} shape={shape?.(place) ?? 'plain'} />
        </li>
      ))}
    </ol>
  );
}
