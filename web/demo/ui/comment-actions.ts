import { useMemo, useState } from 'react';
import { useClient } from 'urql';
import { t } from '../messages';
import { DeleteCommentDocument, EditCommentDocument, type CommentFragment } from '../operations';
import { showFailure, announce } from './notices';

// CommentActions are what the author of a comment can do with it. The author of its
// subject can only delete it.
// Both actions show at once and are rolled back with a notice if the server rejects them.
// If it does not confirm one, the stream of changes shows whether it was executed.
export interface CommentActions {
  readonly unsaved: string | undefined; // text of the last edit if it failed
  edit(text: string): void;
  remove(): void;
}

export function useCommentActions({ id }: CommentFragment): CommentActions {
  const client = useClient();
  const [unsaved, setUnsaved] = useState<string>();
  const actions = useMemo(() => {
    const edit = async (text: string) => {
      const { error } = await client.mutation(EditCommentDocument, { input: { id, text } }).toPromise();
      setUnsaved(error && text);
      if (error) showFailure(t.attempts.editComment, error, () => void edit(text));
      else announce(t.comments.changed);
    };
    const remove = async () => {
      const { error } = await client.mutation(DeleteCommentDocument, { input: { id } }).toPromise();
      if (error) showFailure(t.attempts.deleteComment, error, () => void remove());
      else announce(t.comments.deletedIt);
    };
    return { edit: (text: string) => void edit(text), remove: () => void remove() };
  }, [client, id]);
  return { ...actions, unsaved };
}
