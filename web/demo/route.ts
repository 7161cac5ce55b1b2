import { useSyncExternalStore } from 'react';

// Route is the view in the fragment of the address: the server has only one page.
export type Route =
  | { readonly view: 'clips' | 'browse' | 'likes' | 'folders' | 'chats' }
  | { readonly view: 'search'; readonly text: string }
  | { readonly view: 'clip' | 'chat'; readonly id: string }
  | { readonly view: 'folder'; readonly id: string }
  | { readonly view: 'person'; readonly id: string | null; readonly section: Section | null }; // null: the viewer, the first section

// The sections of a person. The section clips has the other works, too.
export const sections = ['clips', 'likes', 'folders', 'reads', 'friends', 'following', 'followers'] as const;
export type Section = (typeof sections)[number];

export const links = {
  clips: '#/',
  clip: (id: string) => `#/clips/${encodeURIComponent(id)}`,
  browse: '#/browse',
  search: (text = '') => `#/search${text ? `/${encodeURIComponent(text)}` : ''}`,
  likes: '#/likes',
  folders: '#/folders',
  folder: (id: string) => `#/folders/${encodeURIComponent(id)}`,
  chats: '#/chats',
  chat: (id: string) => `#/chats/${encodeURIComponent(id)}`,
  profile: '#/people',
  person: (id: string, section?: Section) => `#/people/${encodeURIComponent(id)}${section ? `/${section}` : ''}`,
};

const clipPath = '/demo#/clips/';

// clipAddress returns the link to a clip for a message; clipIn finds such a link in a text.
// The origin may be missing.
export const clipAddress = (id: string) => location.origin + clipPath + id;

export function clipIn(text: string): { readonly id: string; readonly address: string } | undefined {
  const [address, id] = new RegExp(`(?:${location.origin}|(?<!\\S))${clipPath}(\\d+)`).exec(text) ?? [];
  return id === undefined ? undefined : { id, address: address! };
}

// useRoute returns the route and renders again when the address changes.
export function useRoute(): Route {
  return parse(useSyncExternalStore(watch, () => location.hash));
}

function watch(changed: () => void) {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}

function parse(hash: string): Route {
  const [view, id, part] = hash.replace(/^#\/?/, '').split('/');
  if (view === 'likes' || view === 'browse') return { view };
  if (view === 'search') return { view, text: id ? decoded(id) : '' };
  if (view === 'clips' && id) return { view: 'clip', id: decoded(id) };
  if (view === 'chats') return id ? { view: 'chat', id: decoded(id) } : { view };
  if (view === 'folders') return id ? { view: 'folder', id: decoded(id) } : { view };
  if (view === 'people') return { view: 'person', id: id ? decoded(id) : null, section: sections.find((section) => section === part) ?? null };
  return { view: 'clips' };
}

// decoded decodes a part of an address. Invalid encodings stay as they are.
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
