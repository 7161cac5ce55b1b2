import { useState, type FormEvent } from 'react';
import { useClient } from 'urql';
import { advise, unconfirmed } from '../api/advice';
import { DeleteFolderDocument, FolderItemsDocument, UpdateFolderDocument, type FolderFragment, type UpdateFolderInput } from '../operations';
import { links } from '../route';
import { Dialog } from './dialog';
import { FolderFacts } from './folder-facts';
import { futureDefaultFolder, FolderPages } from './folder-pages';
import { Icon } from './icons';
import { showFailure, announce } from './notices';

interface Props {
  readonly folder: FolderFragment;
}

// FolderActions are the actions of a folder's owner.
export function FolderActions({ folder }: Props) {
  const update = useUpdate(folder);
  const [doing, setDoing] = useState<'edit' | 'delete' | null>(null);
  const stop = () => setDoing(null);

  const publish = async () => {
    const error = await update({ public: !folder.public });
    if (error) showFailure(`${folder.public ? 'unpublish' : 'publish'} “${folder.name}”`, error, () => void publish());
    else announce(folder.public ? `Only you see ${folder.name} now.` : `Others can see ${folder.name} now.`);
  };
  return (
    <div className="folder-actions" role="group" aria-label={`Actions for ${folder.name}`}>
      <button type="button" className="button" aria-haspopup="dialog" onClick={() => setDoing('edit')}>
        <Icon name="pen" />
        Edit
      </button>
      <button type="button" className="button" onClick={() => void publish()}>
        <Icon name={folder.public ? 'lock' : 'globe'} />
        {folder.public ? 'Unpublish' : 'Publish'}
      </button>
      {!folder.default && (
        <button type="button" className="button" aria-haspopup="dialog" onClick={() => setDoing('delete')}>
          <Icon name="bin" />
          Delete
        </button>
      )}
      {doing === 'edit' && <EditFolder folder={folder} onClose={stop} />}
      {doing === 'delete' && <DeleteFolder folder={folder} onClose={stop} />}
    </div>
  );
}

// useUpdate returns a function that changes a folder and returns the error, if any. If the
// server does not confirm the change, the folder is refetched.
function useUpdate({ id }: FolderFragment) {
  const client = useClient();
  return async (change: Omit<UpdateFolderInput, 'id'>) => {
    const { error } = await client.mutation(UpdateFolderDocument, { input: { id, ...change } }).toPromise();
    if (error && unconfirmed(error)) void client.query(FolderItemsDocument, { id, first: 1, after: null }, { requestPolicy: 'network-only' }).toPromise();
    return error;
  };
}

function EditFolder({ folder, onClose }: Props & { onClose: () => void }) {
  const update = useUpdate(folder);
  const [name, setName] = useState(folder.name);
  const [description, setDescription] = useState(folder.description);
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    const error = await update({ name: name.trim(), description: description.trim() });
    setBusy(false);
    if (error) return setProblem(advise(error).text);
    announce(`Saved ${name.trim()}.`);
    onClose();
  };
  return (
    <Dialog title="Edit folder" onClose={onClose}>
      <form className="stack" onSubmit={(event) => void submit(event)}>
        <label className="field">
          <span>Name</span>
          <input value={name} maxLength={100} onChange={(event) => setName(event.target.value)} autoComplete="off" aria-invalid={problem !== ''} />
        </label>
        <label className="field">
          <span>Description</span>
          <textarea rows={3} value={description} maxLength={1000} onChange={(event) => setDescription(event.target.value)} placeholder="What it is for" />
        </label>
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" className="button strong" disabled={!name.trim()} aria-busy={busy}>
          Save
        </button>
      </form>
    </Dialog>
  );
}

function DeleteFolder({ folder, onClose }: Props & { onClose: () => void }) {
  const client = useClient();
  const [to, setTo] = useState<string | null>(null); // destination of its items
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);

  const remove = async () => {
    if (busy) return;
    setBusy(true);
    const { error } = await client.mutation(DeleteFolderDocument, { input: { id: folder.id, moveItemsTo: to } }).toPromise();
    setBusy(false);
    if (error) return setProblem(advise(error).text);
    announce(`Deleted ${folder.name}.`);
    location.replace(links.folders);
  };
  return (
    <Dialog title="Delete this folder?" onClose={onClose}>
      <p className="picker-what">{folder.name}</p>
      {folder.itemCount > 0 && (
        <div className="folders-choice" role="group" aria-label="Actions for its items">
          <button type="button" className="choice" aria-pressed={to === null} onClick={() => setTo(null)}>
            <Icon name={to === null ? 'check' : 'close'} />
            <span className="choice-name">Take {folder.itemCount === 1 ? 'its item' : `its ${folder.itemCount} items`} out</span>
          </button>
          <FolderPages
            choice={(other) =>
              other.id !== folder.id &&
              other.id !== futureDefaultFolder.id && (
                <button type="button" className="choice" aria-pressed={to === other.id} onClick={() => setTo(other.id)}>
                  <Icon name={to === other.id ? 'check' : 'folder'} />
                  <span className="choice-name">Move to {other.name}</span>
                  <FolderFacts folder={other} />
                </button>
              )
            }
          />
        </div>
      )}
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="button" className="button strong" aria-busy={busy} onClick={() => void remove()}>
        Delete folder
      </button>
    </Dialog>
  );
}
