import { keyOf, type Interactive, type Reaction } from './subject.js';

// The expected responses of mutations, computed from the subject as it is displayed.
// Each function changes only counts that were selected.

// withReaction returns the subject after a like, a dislike or, with null, neither.
export function withReaction<Card extends Interactive>(card: Card, reaction: Reaction | null): Card {
  const before = card.liked?.reaction ?? null;
  const moved = (kind: Reaction) => Number(reaction === kind) - Number(before === kind);
  return {
    ...card,
    ...added(card, 'likeCount', moved('LIKE')),
    ...added(card, 'dislikeCount', moved('DISLIKE')),
    liked: reaction && { __typename: 'Liked', id: idOf(card), reaction, at: now() },
  };
}

// withFolder returns the subject in one of the viewer's folders or, with null, in none.
export function withFolder<Card extends Interactive>(card: Card, folder: { readonly id: string; readonly name?: string } | null): Card {
  return {
    ...card,
    ...added(card, 'collectCount', Number(folder !== null) - Number(Boolean(card.collected))),
    collected: folder && { __typename: 'Collected', id: idOf(card), at: now(), folder: { __typename: 'Folder', ...folder } },
  };
}

// withFollow returns the subject as followed by the viewer, or not.
export function withFollow<Card extends Interactive>(card: Card, followed: boolean): Card {
  return {
    ...card,
    ...added(card, 'followerCount', Number(followed) - Number(Boolean(card.followed))),
    followed: followed ? { __typename: 'Followed', id: idOf(card), at: now() } : null,
  };
}

function added(card: Interactive, count: 'likeCount' | 'dislikeCount' | 'collectCount' | 'followerCount', by: number): object {
  const before = card[count];
  return before === undefined ? {} : { [count]: before + by };
}

const idOf = (card: Interactive) => `optimistic/${keyOf(card)}`;
const now = () => new Date().toISOString();
