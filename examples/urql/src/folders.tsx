import { createContext, useContext, useEffect, useState, type FormEvent, type ReactNode } from 'react';
import { useMutation, useQuery, type CombinedError } from 'urql';
import { CollectDocument, CreateFolderDocument, FoldersDocument, UncollectDocument, type CardFragment, type FolderFragment } from './operations';
import { Problem } from './status';

// Each mutation below changes the number of items in folders: ovationExchange has them
// refetched.
interface Loaded {
  readonly user: string | undefined;
  readonly folders: readonly FolderFragment[];
  readonly complete: boolean; // whether these are all folders of the user
  readonly error: CombinedError | undefined;
}

const nothing: Loaded = { user: undefined, folders: [], complete: false, error: undefined };
const FoldersContext = createContext(nothing);

// FoldersProvider loads all folders of the viewer once, for the list and for each picker.
export function FoldersProvider({ children }: { children: ReactNode }) {
  const [loaded, setLoaded] = useState(nothing);
  return (
    <FoldersContext.Provider value={loaded}>
      <FolderPage after={null} onLoad={setLoaded} />
      {children}
    </FoldersContext.Provider>
  );
}

// FolderPage loads a page of folders and those after it. Each page is a query of its own,
// so that a change refetches it. A user has up to 1,000 folders: ten pages.
function FolderPage({ after, onLoad }: { after: string | null; onLoad: (loaded: Loaded) => void }) {
  const [{ data, error }] = useQuery({ query: FoldersDocument, variables: { after } });
  const [rest, setRest] = useState(nothing);
  const page = data?.viewer?.folders;
  const next = page?.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
  useEffect(() => {
    const folders = data?.viewer?.folders.edges.map(({ node }) => node) ?? [];
    const after = next ? rest : { folders: [], complete: Boolean(data), error: undefined };
    onLoad({ user: data?.viewer?.userId, folders: [...folders, ...after.folders], complete: after.complete, error: error ?? after.error });
  }, [data, error, next, rest, onLoad]);
  return next && <FolderPage key={next} after={next} onLoad={setRest} />;
}

export function Folders() {
  const { folders, user, complete, error } = useContext(FoldersContext);
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
      {user && !complete && !error && <p>Loading more folders…</p>}
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
  const { folders, user } = useContext(FoldersContext);
  const [collecting, collect] = useMutation(CollectDocument);
  const [uncollecting, uncollect] = useMutation(UncollectDocument);
  if (!user) return null;
  const subject = { biz: card.biz, bizId: card.bizId };
  const put = (folderId: string) => void (folderId ? collect({ input: { ...subject, folderId } }) : uncollect({ input: subject }));

  const current = card.collected?.folder;
  const error = collecting.error ?? uncollecting.error;
  return (
    <>
      <select aria-label={`Folder of video ${card.bizId}`} value={current?.id ?? ''} onChange={(event) => put(event.target.value)}>
        <option value="">in no folder</option>
        {current && !folders.some((folder) => folder.id === current.id) && <option value={current.id}>{current.name}</option>}
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
