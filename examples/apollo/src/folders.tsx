import { useMutation, useQuery } from '@apollo/client/react';
import type { FormEvent } from 'react';
import { CollectDocument, CreateFolderDocument, FoldersDocument, UncollectDocument, type CardFragment } from './operations';
import { Problem } from './status';

function useFolders() {
  const { data, error } = useQuery(FoldersDocument);
  return { folders: data?.viewer?.folders.edges.map(({ node }) => node) ?? [], user: data?.viewer?.userId, error };
}

// These mutations change the number of items in folders.
const changesFolders = { refetchQueries: [FoldersDocument] };

export function Folders() {
  const { folders, user, error } = useFolders();
  const [create, { error: refusal }] = useMutation(CreateFolderDocument, changesFolders);

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const name = String(new FormData(form).get('name'));
    create({ variables: { input: { name } } }).then(
      () => form.reset(),
      () => {}, // shown below
    );
  }

  return (
    <section aria-label="Folders">
      <h2>{user ? `Folders of ${user}` : 'Sign in to have folders'}</h2>
      <Problem error={error} />
      <ul>
        {folders.map((folder) => (
          <li key={folder.id}>
            {folder.name}: {folder.itemCount}
          </li>
        ))}
      </ul>
      {user && (
        <form onSubmit={submit}>
          <label>
            New folder <input name="name" required maxLength={100} />
          </label>
          <button type="submit">Create</button>
          <Problem error={refusal} />
        </form>
      )}
    </section>
  );
}

export function FolderPicker({ card }: { card: CardFragment }) {
  const { folders, user } = useFolders();
  const [collect, collecting] = useMutation(CollectDocument, changesFolders);
  const [uncollect, uncollecting] = useMutation(UncollectDocument, changesFolders);
  if (!user) return null;
  const subject = { biz: card.biz, bizId: card.bizId };

  function put(folderId: string) {
    const done = folderId ? collect({ variables: { input: { ...subject, folderId } } }) : uncollect({ variables: { input: subject } });
    done.catch(() => {}); // shown below
  }

  const error = collecting.error ?? uncollecting.error;
  return (
    <>
      <select aria-label={`Folder of video ${card.bizId}`} value={card.collected?.folder.id ?? ''} onChange={(event) => put(event.target.value)}>
        <option value="">in no folder</option>
        {folders.map((folder) => (
          <option key={folder.id} value={folder.id}>
            {folder.name}
          </option>
        ))}
      </select>
      <Problem error={error} />
    </>
  );
}
