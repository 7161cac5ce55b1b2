import { useEffect, useState, useSyncExternalStore, type ComponentProps } from 'react';
import { createPortal } from 'react-dom';
import { Store } from '../api/store';
import { Comments } from './comments';

// talk is whether the comments of the clip in view are shown beside it.
export const talk = new Store(false);

let takesFocus = false; // whether the viewer has opened the drawer, which is not there yet

export function toggleTalk(): void {
  takesFocus = !talk.get();
  talk.set(!talk.get());
}

const query = matchMedia('(min-width: 1001px)');

// useWide reports whether a clip and its comments fit beside each other.
export function useWide(): boolean {
  return useSyncExternalStore(watch, () => query.matches);
}

function watch(changed: () => void) {
  query.addEventListener('change', changed);
  return () => query.removeEventListener('change', changed);
}

// CommentsBeside is the drawer with the comments of the clip in view. It stays open for the
// next clip, and takes the focus only when the viewer opens it.
export function CommentsBeside(props: Omit<ComponentProps<typeof Comments>, 'onClose' | 'beside'>) {
  const [focus] = useState(takesFocus);
  useEffect(() => {
    takesFocus = false;
  }, []);
  return createPortal(<Comments {...props} beside={focus ? 'focused' : 'unfocused'} onClose={() => talk.set(false)} />, document.getElementById('main')!);
}
