import type { TypedDocumentNode } from '@urql/core';
import { keyOf, withFolder, withFollow, withReaction } from '@ovation/client';
import {
  CollectDocument,
  DislikeDocument,
  FollowDocument,
  LikeDocument,
  UncollectDocument,
  UndislikeDocument,
  UnfollowDocument,
  UnlikeDocument,
  type CardFragment,
} from '../operations';
import type { Subject } from './subject';

export type Does = 'like' | 'unlike' | 'dislike' | 'undislike' | 'collect' | 'uncollect' | 'follow' | 'unfollow';

// Action is an action of the viewer on a subject.
export interface Action extends Subject {
  readonly does: Does;
  readonly title: string; // of the subject
  readonly folder?: { readonly id: string; readonly name: string }; // to collect into; the default one if omitted
}

type Input = Subject & { readonly folderId?: string };

export const actionDocuments: Record<Does, TypedDocumentNode<unknown, { input: Input }>> = {
  like: LikeDocument,
  unlike: UnlikeDocument,
  dislike: DislikeDocument,
  undislike: UndislikeDocument,
  collect: CollectDocument,
  uncollect: UncollectDocument,
  follow: FollowDocument,
  unfollow: UnfollowDocument,
};

// inputOf returns the input of the mutation.
export function inputOf({ biz, bizId, folder }: Action): Input {
  return { biz, bizId, ...(folder && { folderId: folder.id }) };
}

// What each action changes. Those that set a state make everything before them needless;
// unlike and undislike do not change the other reaction.
const states: Record<Does, { readonly of: 'reaction' | 'folder' | 'follow'; readonly sets: boolean }> = {
  like: { of: 'reaction', sets: true },
  dislike: { of: 'reaction', sets: true },
  unlike: { of: 'reaction', sets: false },
  undislike: { of: 'reaction', sets: false },
  collect: { of: 'folder', sets: true },
  uncollect: { of: 'folder', sets: true },
  follow: { of: 'follow', sets: true },
  unfollow: { of: 'follow', sets: true },
};

// followedBy reports whether an action makes an earlier one needless.
export function followedBy(earlier: Action, later: Action): boolean {
  if (keyOf(earlier) !== keyOf(later) || states[earlier.does].of !== states[later.does].of) return false;
  return states[later.does].sets || earlier.does === later.does;
}

// after returns a card as it is after an action.
export function after<Card extends CardFragment>(card: Card, { does, folder }: Action): Card {
  const reaction = card.liked?.reaction;
  switch (does) {
    case 'like':
      return withReaction(card, 'LIKE');
    case 'dislike':
      return withReaction(card, 'DISLIKE');
    case 'unlike':
      return reaction === 'LIKE' ? withReaction(card, null) : card;
    case 'undislike':
      return reaction === 'DISLIKE' ? withReaction(card, null) : card;
    case 'collect':
      return withFolder(card, folder ?? { id: 'default', name: 'Default' });
    case 'uncollect':
      return withFolder(card, null);
    case 'follow':
      return withFollow(card, true);
    case 'unfollow':
      return withFollow(card, false);
  }
}
