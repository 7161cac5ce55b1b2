import type { CombinedError } from '@urql/core';
import { useMemo } from 'react';
import { useClient } from 'urql';
import { actionDocuments, inputOf, type Action, type Does } from '../api/action';
import { unreached } from '../api/advice';
import type { Subject } from '../api/subject';
import { t } from '../messages';
import type { CardFragment, Reaction } from '../operations';
import { useSession } from '../session';
import { folderName } from './folder-name';
import { futureDefaultFolder } from './folder-pages';
import { announce, showFailure, showNotice } from './notices';
import { willSend } from './will-send';

// Actions are the viewer's actions on a subject. Each shows at once. If the server
// rejects it or does not confirm it, it is rolled back with a notice; in the latter case
// the subject is refetched, too. If the server does not respond at all, it waits in the
// outbox.
export interface Actions {
  react(reaction: Reaction, on: boolean): void;
  collect(folder: { id: string; name: string }): void;
  uncollect(): void;
  follow(on: boolean): void;
}

export function useActions({ biz, bizId }: Subject, title: string): Actions {
  const client = useClient();
  const { outbox } = useSession().connection;
  return useMemo(() => {
    async function act(does: Does, folder?: { id: string; name: string }) {
      const action = { does, biz, bizId, title, ...(folder && { folder }) };
      if (outbox.holds(action)) return wait(action);
      const { data, error } = await client.mutation(actionDocuments[does], { input: inputOf(action) }).toPromise();
      if (!error) announce(withCounts(folder ? t.did.collectIn(folderName(folder), title) : t.did[does](title), data));
      else if (unreached(error)) wait(action, error);
      else showFailedAction(action, error, () => void act(does, folder));
    }

    function wait(action: Action, error?: CombinedError) {
      outbox.act(action, error);
      showNotice(t.withNote(t.did[action.does](t.actions.quoted(title)), willSend()), `${biz}/${bizId}`);
    }

    return {
      react(reaction, on) {
        if (reaction === 'LIKE') void act(on ? 'like' : 'unlike');
        else void act(on ? 'dislike' : 'undislike');
      },
      collect: ({ id, name }) => void act('collect', id === futureDefaultFolder.id ? undefined : { id, name }),
      uncollect: () => void act('uncollect'),
      follow: (on) => void act(on ? 'follow' : 'unfollow'),
    };
  }, [client, outbox, biz, bizId, title]);
}

// showFailedAction shows why an action failed.
export function showFailedAction({ does, title }: Action, error: CombinedError, again: () => void): void {
  showFailure(t.attempts[does](title), error, again);
}

// withCounts adds the counts of a subject after an action to what was done.
function withCounts(did: string, data: unknown): string {
  for (const payload of Object.values((data ?? {}) as Record<string, { interactive?: CardFragment }>)) {
    const card = payload?.interactive;
    if (card?.biz === 'user') return t.actions.withFollowers(did, card.followerCount);
    if (card) return t.actions.withCounts(did, card.likeCount, card.collectCount);
  }
  return t.sentence(did);
}
