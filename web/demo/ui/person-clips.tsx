import { isKnown } from '../api/freshness';
import { PersonClipsDocument, type ClipFragment } from '../operations';
import { links } from '../route';
import { useSession } from '../session';
import { Empty } from './empty';
import { Icon } from './icons';
import { useName } from './name';
import { Pages } from './pages';
import { inFull } from './rolling-number';

const atOnce = 24;

// PersonClips shows the covers of the clips that a user has published.
export function PersonClips({ userId }: { userId: string }) {
  const { userId: viewer } = useSession();
  const name = useName(userId);
  return (
    <div className="covers">
      <Pages
        label="clips"
        auto
        query={PersonClipsDocument}
        variables={(after) => ({ userId, first: atOnce, after })}
        info={({ user }) => user.videos.pageInfo}
        page={({ data, first }) => {
          const clips = data?.user.videos.edges.map(({ node }) => node);
          if (first && clips?.length === 0) return <Empty icon="film">{viewer === userId ? 'You have published no clip yet.' : `${name} has published no clip yet.`}</Empty>;
          return clips?.map((clip) => <CoverLink key={clip.id} clip={clip} />);
        }}
      />
    </div>
  );
}

function CoverLink({ clip }: { clip: ClipFragment }) {
  const { freshness, likeCount } = clip.interactive;
  return (
    <a className="cover-link" href={links.clip(clip.videoId)}>
      <img src={clip.coverUrl} alt="" loading="lazy" decoding="async" />
      <span className="cover-words">
        <span className="cover-title">{clip.title}</span>
        {isKnown(freshness) && (
          <span className="cover-likes">
            <Icon name="heart" filled />
            {inFull(likeCount)}
            <span className="unseen"> likes</span>
          </span>
        )}
      </span>
    </a>
  );
}
