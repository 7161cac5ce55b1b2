import { useSyncExternalStore } from 'react';
import { decoded } from '../demo/route';

// Route is the view in the fragment of the address.
export type Route =
  | { readonly view: 'overview' }
  | { readonly view: 'subject'; readonly biz: string; readonly bizId: string }
  | { readonly view: 'user'; readonly id: string };

export const links = {
  overview: '#/',
  subject: (biz: string, bizId: string) => `#/subject/${encodeURIComponent(biz)}/${encodeURIComponent(bizId)}`,
  user: (id: string) => `#/user/${encodeURIComponent(id)}`,
};

// useRoute returns the route and renders again when the address changes.
export function useRoute(): Route {
  const hash = useSyncExternalStore(watch, () => location.hash);
  const [view, ...parts] = hash.replace(/^#\/?/, '').split('/').map(decoded);
  if (view === 'subject' && parts[0] && parts[1]) return { view, biz: parts[0], bizId: parts[1] };
  if (view === 'user' && parts[0]) return { view, id: parts[0] };
  return { view: 'overview' };
}

function watch(changed: () => void) {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}
