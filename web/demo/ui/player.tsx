import { useEffect, useRef, useState } from 'react';
import { useStore } from '../api/store';
import { t } from '../messages';
import { Icon } from './icons';
import { useOnline } from './online';
import { autoplays, sound } from './playback';
import { useTaps, type Spot } from './taps';

interface Props {
  readonly title: string;
  readonly playUrl: string;
  readonly coverUrl: string;
  readonly active: boolean; // whether this clip is in view
  readonly near: boolean; // whether it is next to the clip in view
  readonly onLike: () => void; // called at a double tap
}

type State = 'waiting' | 'playing' | 'paused' | 'failed';

// Player shows the cover of a clip, and plays the clip while it is in view: muted until
// the viewer turns the sound on. A tap pauses it, a double tap likes it.
export function Player({ title, playUrl, coverUrl, active, near, onLike }: Props) {
  const [wanted, setWanted] = useState(autoplays);
  const [state, setState] = useState<State>('paused');
  const { video, bar } = useVideo(active && wanted, state === 'failed', setState);
  const online = useOnline();
  const retry = () => {
    setState('waiting');
    video.current?.load();
    void video.current?.play().catch(() => {});
  };
  const latest = useRef(retry);
  latest.current = retry;
  const failed = state === 'failed';
  useEffect(() => {
    if (online && failed && navigator.onLine) latest.current();
    // It retries by itself only when the machine is online again.
  }, [online]); // eslint-disable-line

  const [hearts, setHearts] = useState<readonly (Spot & { readonly id: number })[]>([]);
  const tap = useTaps(
    () => (failed ? retry() : setWanted(!wanted)),
    (at) => {
      setHearts((before) => [...before, { ...at, id: (before.at(-1)?.id ?? 0) + 1 }]);
      onLike();
    },
  );
  const plays = active && wanted;
  return (
    <>
      <img className="clip-backdrop" src={coverUrl} alt="" loading="lazy" decoding="async" />
      <img className="clip-cover" src={coverUrl} alt="" loading="lazy" decoding="async" onLoad={({ currentTarget: { naturalWidth, naturalHeight, dataset } }) => fit(dataset, naturalWidth, naturalHeight)} />
      {(active || near) && (
        <video
          ref={video}
          className="clip-video"
          src={playUrl}
          preload={active ? 'auto' : 'metadata'}
          loop
          playsInline
          disablePictureInPicture
          tabIndex={-1}
          aria-hidden="true"
          onLoadedMetadata={({ currentTarget: { videoWidth, videoHeight, dataset } }) => fit(dataset, videoWidth, videoHeight)}
          data-shown={(active && state !== 'failed' && (state === 'playing' || state === 'paused')) || undefined}
        />
      )}
      <button type="button" className="clip-surface" aria-label={(plays ? t.clips.pause : t.clips.play)(title)} onClick={tap}>
        {active && !plays && !failed && (
          <span className="clip-play">
            <Icon name="play" filled />
          </span>
        )}
        {plays && state === 'waiting' && <span className="clip-wait" />}
      </button>
      {hearts.map(({ id, x, y }) => (
        <span key={id} className="clip-heart" style={{ left: x, top: y }} aria-hidden="true" onAnimationEnd={() => setHearts((before) => before.filter((one) => one.id !== id))}>
          <Icon name="heart" filled />
        </span>
      ))}
      {active && failed && (
        <p className="clip-failed" role="status">
          {online ? t.clips.cannotPlay : t.clips.playsOnline}
          <button type="button" className="button" onClick={retry}>
            {t.tryAgain}
          </button>
        </p>
      )}
      <span className="clip-progress" aria-hidden="true">
        <i ref={bar} />
      </span>
    </>
  );
}

// fit lets upright clips fill the screen. Others are shown whole.
function fit(dataset: DOMStringMap, width: number, height: number): void {
  dataset['fit'] = height > width * 1.4 ? 'cover' : 'contain';
}

// useVideo plays and pauses the element, and tracks its state.
function useVideo(plays: boolean, failed: boolean, onState: (state: State) => void) {
  const video = useRef<HTMLVideoElement>(null);
  const bar = useRef<HTMLElement>(null);
  const loud = useStore(sound);
  const hidden = useHidden();

  useEffect(() => {
    const element = video.current;
    if (!element) return;
    element.muted = !loud;
    if (!plays || hidden) {
      element.pause();
      return;
    }
    if (failed) return;
    if (element.readyState < element.HAVE_FUTURE_DATA) onState('waiting');
    element.play().catch((error: unknown) => {
      if ((error as Error).name !== 'NotAllowedError') return; // the element itself reports other errors
      sound.set(false); // the browser requires a gesture before it plays sound
      element.muted = true;
      element.play().catch(() => onState('paused'));
    });
  }, [plays, hidden, loud, failed, onState]);

  useEffect(() => {
    const element = video.current;
    if (!element) return;
    const listeners: Record<string, () => void> = {
      playing: () => onState('playing'),
      waiting: () => onState('waiting'),
      pause: () => onState('paused'),
      error: () => onState('failed'),
      timeupdate: () => bar.current?.style.setProperty('--played', String(element.currentTime / (element.duration || 1))),
    };
    for (const [name, listener] of Object.entries(listeners)) element.addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) element.removeEventListener(name, listener);
    };
  });
  return { video, bar };
}

// useHidden reports whether the page is in a background tab.
function useHidden(): boolean {
  const [hidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const changed = () => setHidden(document.hidden);
    document.addEventListener('visibilitychange', changed);
    return () => document.removeEventListener('visibilitychange', changed);
  }, []);
  return hidden;
}
