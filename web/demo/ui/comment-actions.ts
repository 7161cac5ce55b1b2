import { useMemo, useState } from 'react';
import { useClient } from 'urql';
import { DeleteCommentDocument, EditCommentDocument, type CommentFragment } from '../operations';
import { complain, tell } from './notices';

// CommentActions is what the author of a comment can do with it, and the author of
// its subject. Both show at once, and are taken back with a notice if the server
// refuses. Where it does not confirm, the stream of changes tells whether it was
// done.
export interface CommentActions {
  readonly unsaved: string | undefined; // text of the last edit, if that failed
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
      if (error) complain('change your comment', error, () => void edit(text));
      else tell('Comment changed.');
    };
    const remove = async () => {
      const { error } = await client.mutation(DeleteCommentDocument, { input: { id } }).toPromise();
      if (error) complain('delete the comment', error, () => void remove());
      else tell('Comment deleted.');
    };
    return { edit: (text: string) => void edit(text), remove: () => void remove() };
  }, [client, id]);
  return { ...actions, unsaved };
}
