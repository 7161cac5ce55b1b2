import type { DocumentInput } from '@urql/core';
import { useMemo } from 'react';
import { useClient } from 'urql';
import type { Subject } from '../api/subject';
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
  type Reaction,
} from '../operations';
import { futureDefaultFolder } from './folder-pages';
import { inFull } from './rolling-number';
import { showFailure, announce } from './notices';

// Actions are the viewer's actions on a subject. Each shows at once. If the server
// rejects it or does not confirm it, it is rolled back with a notice; in the latter case
// the subject is refetched, too.
export interface Actions {
  react(reaction: Reaction, on: boolean): void;
  collect(folder: { id: string; name: string }): void;
  uncollect(): void;
  follow(on: boolean): void;
}

export function useActions({ biz, bizId }: Subject, title: string): Actions {
  const client = useClient();
  return useMemo(() => {
    const input = { biz, bizId };

    async function act<Data, Input>(did: string, toDo: string, document: DocumentInput<Data, { input: Input }>, given: Input) {
      const { data, error } = await client.mutation(document, { input: given }).toPromise();
      if (error) showFailure(`${toDo} “${title}”`, error, () => void act(did, toDo, document, given));
      else announce(`${did} ${title}. ${counts(data)}`);
    }

    return {
      react(reaction, on) {
        if (reaction === 'LIKE') void (on ? act('Liked', 'like', LikeDocument, input) : act('Unliked', 'unlike', UnlikeDocument, input));
        else void (on ? act('Disliked', 'dislike', DislikeDocument, input) : act('Undisliked', 'undislike', UndislikeDocument, input));
      },
      collect: ({ id, name }) =>
        void act(`In ${name}:`, 'collect', CollectDocument, id === futureDefaultFolder.id ? input : { ...input, folderId: id }),
      uncollect: () => void act('Uncollected', 'uncollect', UncollectDocument, input),
      follow: (on) => void (on ? act('Following', 'follow', FollowDocument, input) : act('Unfollowed', 'unfollow', UnfollowDocument, input)),
    };
  }, [client, biz, bizId, title]);
}

// counts announces the counts of a subject after an action.
function counts(data: unknown): string {
  for (const payload of Object.values((data ?? {}) as Record<string, { interactive?: CardFragment }>)) {
    const card = payload?.interactive;
    if (card?.biz === 'user') return `${inFull(card.followerCount)} followers`;
    if (card) return `${inFull(card.likeCount)} likes, ${inFull(card.collectCount)} collected`;
  }
  return '';
}
