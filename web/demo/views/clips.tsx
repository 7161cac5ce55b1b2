import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { useQuery, useSubscription } from 'urql';
import type { CombinedError } from '@urql/core';
import { t } from '../messages';
import { ClipsDocument, LiveDocument, NewestClipDocument, OneClipDocument, type ClipFragment } from '../operations';
import { links } from '../route';
import { useSession } from '../session';
import { Clip } from '../ui/clip';
import { ClipSkeleton, Step, StepFailed } from '../ui/clip-steps';
import { talk } from '../ui/comments-beside';
import { Icon } from '../ui/icons';
import { useKeys } from '../ui/keys';
import { openUpload } from '../ui/upload';

const atOnce = 10;
const ahead = 3; // how many clips before the end the next page is requested
const pollEvery = 15_000; // milliseconds between checks for newer clips

// Clips is the feed: one clip fills the screen, and the clip in view plays.
export function Clips() {
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  const [newest, setNewest] = useState<string | null>(); // null if there are no clips
  const [round, setRound] = useState(0);
  const more = useCallback((after: string) => setCursors((before) => (before.includes(after) ? before : [...before, after])), []);
  const anew = () => {
    setCursors([null]);
    setNewest(undefined);
    setRound((before) => before + 1);
  };
  return (
    <Stage key={round} label={t.clips.label} top={round > 0 ? (newest ?? undefined) : undefined} above={newest !== undefined && <Newer than={newest} onShow={anew} />}>
      {({ current, show }) => (
        <>
          {cursors.map((after, page) => (
            <ClipsPage
              key={after}
              after={after}
              offset={page * atOnce}
              fresh={round > 0 && page === 0}
              current={current}
              onShow={show}
              onMore={more}
              onNewest={page === 0 ? setNewest : undefined}
            />
          ))}
        </>
      )}
    </Stage>
  );
}

interface PageProps {
  readonly after: string | null;
  readonly offset: number;
  readonly fresh: boolean; // whether cached pages are too old
  readonly current: string | undefined;
  readonly onShow: (id: string) => void;
  readonly onMore: (after: string) => void;
  readonly onNewest: ((id: string | null) => void) | undefined;
}

function ClipsPage({ after, offset, fresh, current, onShow, onMore, onNewest }: PageProps) {
  const { known } = useSession();
  const [{ data, error }, again] = useQuery({
    query: ClipsDocument,
    variables: { first: atOnce, after },
    requestPolicy: fresh ? 'network-only' : 'cache-and-network',
    pause: !known,
  });
  const retry = () => again({ requestPolicy: 'network-only' });
  const clips = useMemo(() => data?.feed.edges.map(({ node }) => node), [data]);
  useLive(clips);

  const first = clips?.[0]?.id;
  useEffect(() => {
    if (clips) onNewest?.(first ?? null);
  }, [clips, first, onNewest]);
  const next = data?.feed.pageInfo.hasNextPage ? data.feed.pageInfo.endCursor : null;
  const near = clips !== undefined && clips.slice(-ahead).some(({ id }) => id === current);
  useEffect(() => {
    if (near && next) onMore(next);
  }, [near, next, onMore]);

  if (!clips) return error ? <NoFeed error={error} onAgain={retry} /> : <ClipSkeleton />;
  if (clips.length === 0 && after === null) return <EmptyFeed />;
  return clips.map((clip, place) => (
    <Clip key={clip.id} clip={clip} place={offset + place + 1} active={clip.id === current} near={clips[place - 1]?.id === current} onShow={onShow} />
  ));
}

// OneClip shows the clip in the address.
export function OneClip({ id }: { id: string }) {
  const { known } = useSession();
  const [{ data, error }, again] = useQuery({ query: OneClipDocument, variables: { videoId: id }, requestPolicy: 'cache-and-network', pause: !known });
  const retry = () => again({ requestPolicy: 'network-only' });
  const clip = data?.video;
  useLive(useMemo(() => (clip ? [clip] : undefined), [clip]));
  useCoverSoon(clip, retry);
  return (
    <Stage label={t.clips.clip}>
      {({ current, show }) => {
        if (clip) return <Clip clip={clip} place={1} active={clip.id === current} near={false} alone onShow={show} />;
        if (clip === null) return <MissingClip />;
        return error ? <NoFeed error={error} onAgain={retry} /> : <ClipSkeleton />;
      }}
    </Stage>
  );
}

function MissingClip() {
  return (
    <Step icon="film">
      {t.clips.missing}
      <a className="button strong" href={links.clips}>
        {t.toFeed}
      </a>
    </Step>
  );
}

const coverAfter = [1_500, 3_000, 6_000, 12_000]; // milliseconds since the last attempt

// useCoverSoon refetches a newly published clip until it has a cover, which is made after
// the upload.
function useCoverSoon(clip: ClipFragment | null | undefined, look: () => void): void {
  const latest = useRef(look);
  latest.current = look;
  const [looks, setLooks] = useState(0);
  const waits = clip?.coverUrl.includes('/placeholders/') && Date.now() - Date.parse(clip.at) < 60_000;
  useEffect(() => {
    const wait = coverAfter[looks];
    if (!waits || wait === undefined) return;
    const timer = setTimeout(() => {
      setLooks(looks + 1);
      latest.current();
    }, wait);
    return () => clearTimeout(timer);
  }, [waits, looks]);
}

// useLive subscribes to the counts of the clips and of their authors.
function useLive(clips: readonly ClipFragment[] | undefined): void {
  const { known } = useSession();
  const ids = clips?.map(({ videoId }) => videoId).join(' ') ?? '';
  const authors = [...new Set(clips?.map(({ author }) => author.userId))].join('\n');
  const subjects = useMemo(
    () => [
      ...ids.split(' ').filter(Boolean).map((bizId) => ({ biz: 'video', bizId })),
      ...authors.split('\n').filter(Boolean).map((bizId) => ({ biz: 'user', bizId })),
    ],
    [ids, authors],
  );
  useSubscription({ query: LiveDocument, variables: { subjects }, pause: !known || subjects.length === 0 });
}

interface Shown {
  readonly current: string | undefined; // id of the clip in view
  readonly show: (id: string) => void;
}

interface StageProps {
  readonly label: string;
  readonly top?: string | undefined; // id of the first clip, if that is to be shown
  readonly above?: ReactNode;
  readonly children: (shown: Shown) => ReactNode;
}

// Stage scrolls through clips: by touch, wheel and keys.
function Stage({ label, top, above, children }: StageProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<string>();
  useLayoutEffect(() => {
    // Otherwise the browser would keep the previous first clip in view.
    if (top !== undefined) scroller.current!.scrollTo({ top: 0, behavior: 'instant' });
  }, [top]);
  const move = (by: number) => {
    const all = [...scroller.current!.querySelectorAll<HTMLElement>(':scope > .clip')];
    const target = all[all.findIndex((one) => one.dataset['clip'] === current) + by];
    target?.scrollIntoView({ behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
    target?.focus({ preventScroll: true });
  };
  useKeys((key, event) => {
    const by = steps[key];
    const presses = buttons[key];
    if (by !== undefined) {
      event.preventDefault();
      move(by);
    } else if (key === 'Escape') {
      talk.set(false);
    } else if (presses && !(key === ' ' && (event.target as Element).closest('a, button'))) {
      event.preventDefault();
      scroller.current!.querySelector<HTMLElement>(`:scope > [data-clip="${CSS.escape(current ?? '')}"] ${presses}`)?.click();
    }
  });
  useEffect(() => () => talk.set(false), []);
  return (
    <>
      <h1 className="unseen">{label}</h1>
      {above}
      <div className="clips" role={current === undefined ? 'region' : 'feed'} aria-label={label} ref={scroller} tabIndex={0}>
        {children({ current, show: setCurrent })}
      </div>
      <p className="clips-moves">
        <button type="button" className="plain" aria-label={t.clips.previous} onClick={() => move(-1)}>
          <Icon name="up" />
        </button>
        <button type="button" className="plain" aria-label={t.clips.next} onClick={() => move(1)}>
          <Icon name="next" />
        </button>
      </p>
    </>
  );
}

// The keys that press a button of the clip in view.
const buttons: Record<string, string> = { ' ': '.clip-surface', l: '.like', c: '.talk', f: '.collect', s: '.share', m: '.clip-sound' };

const steps: Record<string, number> = { ArrowDown: 1, PageDown: 1, j: 1, ArrowUp: -1, PageUp: -1, k: -1 };

// Newer offers clips that were published after the feed was loaded.
function Newer({ than, onShow }: { than: string | null; onShow: () => void }) {
  const { known } = useSession();
  const [{ data, fetching }, look] = useQuery({ query: NewestClipDocument, requestPolicy: 'network-only', pause: true });
  useEffect(() => {
    if (!known) return;
    const ask = () => !document.hidden && navigator.onLine && !fetching && look();
    const timer = setInterval(ask, pollEvery);
    document.addEventListener('visibilitychange', ask);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', ask);
    };
  }, [known, fetching, look]);
  const first = data?.feed.edges[0]?.node.id;
  if (first === undefined || first === than) return null;
  return (
    <button type="button" className="button strong clips-newer" onClick={onShow}>
      <Icon name="up" />
      {t.clips.newer}
    </button>
  );
}

function EmptyFeed() {
  return (
    <Step icon="film">
      {t.clips.none}
      <button type="button" className="button strong" onClick={openUpload}>
        {t.clips.uploadFirst}
      </button>
    </Step>
  );
}

function NoFeed({ error, onAgain }: { error: CombinedError; onAgain: () => void }) {
  if (error.graphQLErrors.some((one) => one.extensions['code'] === 'NOT_FOUND')) {
    return (
      <Step icon="film">
        {t.clips.noVideos}
        <a className="button" href={links.browse}>
          {t.clips.browse}
        </a>
      </Step>
    );
  }
  return <StepFailed error={error} onAgain={onAgain} />;
}
