import { useSyncExternalStore } from 'react';

// Route is what the address names, behind its #: the server knows one page.
export type Route = { readonly view: 'feed' | 'likes' | 'folders' } | { readonly view: 'folder'; readonly id: string };

export const links = {
  feed: '#/',
  likes: '#/likes',
  folders: '#/folders',
  folder: (id: string) => `#/folders/${encodeURIComponent(id)}`,
};

// useRoute follows the address.
export function useRoute(): Route {
  return parse(useSyncExternalStore(watch, () => location.hash));
}

function watch(changed: () => void) {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}

function parse(hash: string): Route {
  const [view, id] = hash.replace(/^#\/?/, '').split('/');
  if (view === 'likes') return { view };
  if (view === 'folders') return id ? { view: 'folder', id: decoded(id) } : { view };
  return { view: 'feed' };
}

// decoded is a part of an address as text. What is not well written stays.
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
