import { useState, type FormEvent } from 'react';
import { useClient } from 'urql';
import { advise, unconfirmed } from '../api/advice';
import { CreateFolderDocument, type FolderFragment } from '../operations';
import type { Actions } from './actions';
import { Dialog } from './dialog';
import { FolderPages, readFoldersAgain } from './folder-pages';
import { Icon } from './icons';

interface Props {
  readonly title: string;
  readonly current: string | undefined; // id of the folder it lies in
  readonly actions: Actions;
  readonly onClose: () => void;
}

// FolderPicker asks where to keep something. One that is kept elsewhere moves.
export function FolderPicker({ title, current, actions, onClose }: Props) {
  const put = (folder: { id: string; name: string }) => {
    if (folder.id !== current) actions.collect(folder);
    onClose();
  };
  return (
    <Dialog title={current ? 'Move to another folder' : 'Keep in a folder'} onClose={onClose}>
      <p className="picker-what">{title}</p>
      <FolderPages
        shape="choice"
        render={(folder) => (
          <button type="button" className="choice" aria-pressed={folder.id === current} onClick={() => put(folder)}>
            <Icon name={folder.id === current ? 'check' : 'folder'} />
            <span className="choice-name">{folder.name}</span>
            <FolderFacts folder={folder} />
          </button>
        )}
      />
      <NewFolder onMade={put} />
      {current && (
        <p className="dialog-foot">
          <button
            type="button"
            className="button quiet"
            onClick={() => {
              actions.uncollect();
              onClose();
            }}
          >
            Take it out
          </button>
          <span>It is then in no folder of yours.</span>
        </p>
      )}
    </Dialog>
  );
}

// FolderFacts is how much a folder holds, and who sees it.
export function FolderFacts({ folder }: { folder: FolderFragment }) {
  return (
    <span className="facts">
      {folder.itemCount} {folder.itemCount === 1 ? 'item' : 'items'}
      <Icon name={folder.public ? 'globe' : 'lock'} />
      <span className="unseen">{folder.public ? 'public' : 'only you see it'}</span>
    </span>
  );
}

// NewFolder makes a folder. What is wrong with its name is said beside it.
export function NewFolder({ onMade }: { onMade: (folder: FolderFragment) => void }) {
  const client = useClient();
  const [name, setName] = useState('');
  const [shared, setShared] = useState(false);
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    const { data, error } = await client.mutation(CreateFolderDocument, { input: { name: name.trim(), public: shared } }).toPromise();
    setBusy(false);
    if (error && unconfirmed(error)) readFoldersAgain(client);
    if (error) return setProblem(advise(error).says);
    setName('');
    setProblem('');
    if (data) onMade(data.createFolder.folder);
  };

  return (
    <form className="new-folder" onSubmit={(event) => void submit(event)}>
      <div className="field-row">
        <label className="field">
          <span>New folder</span>
          <input value={name} maxLength={100} onChange={(event) => setName(event.target.value)} placeholder="For the weekend" autoComplete="off" aria-invalid={problem !== ''} />
        </label>
        <button type="submit" className="button strong" disabled={!name.trim() || busy}>
          <Icon name="plus" />
          Create
        </button>
      </div>
      <label className="tick">
        <input type="checkbox" checked={shared} onChange={(event) => setShared(event.target.checked)} />
        Others can see it
      </label>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
