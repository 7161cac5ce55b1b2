import type { FormEvent } from 'react';
import { useMutation, useQuery } from 'urql';
import { CollectDocument, CreateFolderDocument, FoldersDocument, UncollectDocument, type CardFragment } from './operations';
import { Problem } from './status';

// Each mutation below changes the number of items in folders: ovationExchange has them
// refetched.
function useFolders() {
  const [{ data, error }] = useQuery({ query: FoldersDocument });
  return { folders: data?.viewer?.folders.edges.map(({ node }) => node) ?? [], user: data?.viewer?.userId, error };
}

export function Folders() {
  const { folders, user, error } = useFolders();
  const [{ error: refusal }, create] = useMutation(CreateFolderDocument);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const result = await create({ input: { name: String(new FormData(form).get('name')) } });
    if (!result.error) form.reset();
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
        <form onSubmit={(event) => void submit(event)}>
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
  const [collecting, collect] = useMutation(CollectDocument);
  const [uncollecting, uncollect] = useMutation(UncollectDocument);
  if (!user) return null;
  const subject = { biz: card.biz, bizId: card.bizId };
  const put = (folderId: string) => void (folderId ? collect({ input: { ...subject, folderId } }) : uncollect({ input: subject }));

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
