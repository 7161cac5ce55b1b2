import { useMutation, useQuery, useSubscription } from '@apollo/client/react';
import { withReaction } from '@ovation/client';
import { FolderPicker } from './folders';
import { FeedDocument, LikeDocument, LiveDocument, UnlikeDocument, type CardFragment } from './operations';
import { Problem } from './status';

// The content is your application's; Ovation knows each item by its biz and bizId.
const subjects = ['1', '2', '3', '4', '5', '6'].map((bizId) => ({ biz: 'video', bizId }));

export function Feed() {
  const { data, error } = useQuery(FeedDocument, { variables: { subjects } });
  // Each event goes into the cache and from there to all components that show the subject.
  useSubscription(LiveDocument, { variables: { subjects } });
  return (
    <section aria-label="Feed">
      <Problem error={error} />
      {data?.interactives.map((card) => (
        <article key={card.id} aria-label={`Video ${card.bizId}`}>
          <h3>Video {card.bizId}</h3>
          <LikeButton card={card} />
          <FolderPicker card={card} />
          {card.freshness === 'STALE' && <small>as of a while ago</small>}
        </article>
      ))}
    </section>
  );
}

function LikeButton({ card }: { card: CardFragment }) {
  const [like, liking] = useMutation(LikeDocument);
  const [unlike, unliking] = useMutation(UnlikeDocument);
  const on = card.liked?.reaction === 'LIKE';
  const input = { biz: card.biz, bizId: card.bizId };
  const expected = { changed: true, durability: 'QUEUED' } as const;

  // The optimistic response shows at once, and is rolled back if the server rejects the change.
  const add = () =>
    like({
      variables: { input },
      optimisticResponse: { like: { __typename: 'LikePayload', ...expected, interactive: withReaction(card, 'LIKE') } },
    });
  const remove = () =>
    unlike({
      variables: { input },
      optimisticResponse: { unlike: { __typename: 'UnlikePayload', ...expected, interactive: withReaction(card, null) } },
    });
  const toggle = () => void (on ? remove() : add()).catch(() => {}); // the error is shown below

  const error = liking.error ?? unliking.error;
  return (
    <>
      <button type="button" aria-pressed={on} onClick={toggle}>
        ♥ {card.freshness === 'UNAVAILABLE' || card.freshness === 'HIDDEN' ? '–' : card.likeCount}
      </button>
      <Problem error={error} />
    </>
  );
}
