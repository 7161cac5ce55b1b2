import { useMutation, useQuery, useSubscription } from 'urql';
import { FolderPicker } from './folders';
import { FeedDocument, LikeDocument, LiveDocument, UnlikeDocument, type CardFragment } from './operations';
import { Problem } from './status';

// The content is your application's; Ovation knows each item by its biz and bizId.
const subjects = ['1', '2', '3', '4', '5', '6'].map((bizId) => ({ biz: 'video', bizId }));

export function Feed() {
  const [{ data, error }] = useQuery({ query: FeedDocument, variables: { subjects } });
  // Each event goes into the cache and from there to all components that show the subject.
  useSubscription({ query: LiveDocument, variables: { subjects } });
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
  const [liking, like] = useMutation(LikeDocument);
  const [unliking, unlike] = useMutation(UnlikeDocument);
  const on = card.liked?.reaction === 'LIKE';
  const input = { biz: card.biz, bizId: card.bizId };

  // The change shows at once and is rolled back if the server rejects it: ovationExchange
  // predicts the response to a like.
  const toggle = () => void (on ? unlike({ input }) : like({ input }));

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
