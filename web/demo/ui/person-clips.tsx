import { useEffect, useState } from 'react';
import { isKnown } from '../api/freshness';
import { isClipId, isContent, type Subject } from '../api/subject';
import { t } from '../messages';
import { PersonClipsDocument, WorksDocument, type ClipFragment } from '../operations';
import { links } from '../route';
import { useSession } from '../session';
import { Gallery } from './gallery';
import { Icon } from './icons';
import { useName } from './name';
import { Pages } from './pages';

const atOnce = 24;
const worksAtOnce = 20;

// PersonClips shows what a user has published: the covers of the clips, then the cards of
// the other works.
export function PersonClips({ userId }: { userId: string }) {
  const { userId: viewer } = useSession();
  const name = useName(userId);
  const [clips, setClips] = useState<number>(); // on the first page
  const none = t.people.noClips(viewer === userId ? null : name);
  return (
    <>
      <div className="covers">
        <Pages
          label={t.more.clips}
          auto
          query={PersonClipsDocument}
          variables={(after) => ({ userId, first: atOnce, after })}
          info={({ user }) => user.videos.pageInfo}
          page={({ data, first }) => <ClipsPage clips={data?.user.videos.edges.map(({ node }) => node)} onCount={first ? setClips : undefined} />}
        />
      </div>
      {clips !== undefined && (
        <Gallery
          label={t.more.works}
          query={WorksDocument}
          variables={(after) => ({ userId, first: worksAtOnce, after })}
          list={({ user }) => user.works}
          shows={isOtherWork}
          icon="film"
          none={clips === 0 ? none : undefined}
        />
      )}
    </>
  );
}

// isOtherWork omits clips from the works, since they are shown as clips.
const isOtherWork = (subject: Subject) => isContent(subject) && !(subject.biz === 'video' && isClipId(subject.bizId));

// ClipsPage shows the covers of clips, which lead to them.
export function ClipsPage({ clips, onCount }: { clips: readonly ClipFragment[] | undefined; onCount?: ((count: number) => void) | undefined }) {
  const count = clips?.length;
  useEffect(() => {
    if (count !== undefined) onCount?.(count);
  }, [count, onCount]);
  return clips?.map((clip) => <CoverLink key={clip.id} clip={clip} />);
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
            <span aria-hidden="true">{t.format.number(likeCount)}</span>
            <span className="unseen">{t.counts.likes(likeCount)}</span>
          </span>
        )}
      </span>
    </a>
  );
}
