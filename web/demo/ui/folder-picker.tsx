import { useRef, useState, type FormEvent } from 'react';
import { useClient } from 'urql';
import { advise, unconfirmed } from '../api/advice';
import { t } from '../messages';
import { CreateFolderDocument, type FolderFragment } from '../operations';
import type { Actions } from './actions';
import { Dialog } from './dialog';
import { FolderFacts } from './folder-facts';
import { folderName } from './folder-name';
import { FolderPages, refetchFolders } from './folder-pages';
import { Icon } from './icons';

interface Props {
  readonly title: string;
  readonly current: string | undefined; // id of the folder that the item is in
  readonly actions: Actions;
  readonly onClose: () => void;
}

// FolderPicker offers folders to collect an item into. An item in another folder is moved.
export function FolderPicker({ title, current, actions, onClose }: Props) {
  const put = (folder: { id: string; name: string }) => {
    if (folder.id !== current) actions.collect(folder);
    onClose();
  };
  return (
    <Dialog title={current ? t.folders.move : t.folders.collect} onClose={onClose}>
      <p className="picker-what">{title}</p>
      <FolderPages
        choice={(folder) => (
          <button type="button" className="choice" aria-pressed={folder.id === current} onClick={() => put(folder)}>
            <Icon name={folder.id === current ? 'check' : 'folder'} />
            <span className="choice-name">{folderName(folder)}</span>
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
            {t.folders.takeOut}
          </button>
          <span>{t.folders.takeOutHint}</span>
        </p>
      )}
    </Dialog>
  );
}

// NewFolder creates a folder. An error in the name is shown beside the field.
export function NewFolder({ onMade }: { onMade: (folder: FolderFragment) => void }) {
  const client = useClient();
  const [name, setName] = useState('');
  const [shared, setShared] = useState(false);
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    field.current?.focus(); // the button is about to be disabled
    setBusy(true);
    const { data, error } = await client.mutation(CreateFolderDocument, { input: { name: name.trim(), public: shared } }).toPromise();
    setBusy(false);
    if (error && unconfirmed(error)) refetchFolders(client);
    if (error) return setProblem(advise(error).text);
    setName('');
    setProblem('');
    if (data) onMade(data.createFolder.folder);
  };

  return (
    <form className="new-folder" onSubmit={(event) => void submit(event)}>
      <div className="field-row">
        <label className="field">
          <span>{t.folders.new}</span>
          <input
            ref={field}
            value={name}
            maxLength={100}
            onChange={(event) => setName(event.target.value)}
            placeholder={t.folders.placeholder}
            autoComplete="off"
            aria-invalid={problem !== ''}
          />
        </label>
        <button type="submit" className="button strong" disabled={!name.trim() || busy}>
          <Icon name="plus" />
          {t.folders.create}
        </button>
      </div>
      <label className="tick">
        <input type="checkbox" checked={shared} onChange={(event) => setShared(event.target.checked)} />
        {t.folders.othersSeeIt}
      </label>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
