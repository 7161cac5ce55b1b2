import { useState, type FormEvent } from 'react';
import { useClient } from 'urql';
import { advise, unconfirmed } from '../api/advice';
import { t } from '../messages';
import { DeleteFolderDocument, FolderItemsDocument, UpdateFolderDocument, type FolderFragment, type UpdateFolderInput } from '../operations';
import { links } from '../route';
import { Dialog } from './dialog';
import { FolderFacts } from './folder-facts';
import { folderName } from './folder-name';
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
  const shown = folderName(folder);

  const publish = async () => {
    const error = await update({ public: !folder.public });
    if (error) showFailure(t.attempts[folder.public ? 'unpublish' : 'publish'](shown), error, () => void publish());
    else announce(folder.public ? t.folders.unpublished(shown) : t.folders.published(shown));
  };
  return (
    <div className="folder-actions" role="group" aria-label={t.actions.of(shown)}>
      <button type="button" className="button" aria-haspopup="dialog" onClick={() => setDoing('edit')}>
        <Icon name="pen" />
        {t.edit}
      </button>
      <button type="button" className="button" onClick={() => void publish()}>
        <Icon name={folder.public ? 'lock' : 'globe'} />
        {folder.public ? t.folders.unpublish : t.folders.publish}
      </button>
      {!folder.default && (
        <button type="button" className="button" aria-haspopup="dialog" onClick={() => setDoing('delete')}>
          <Icon name="bin" />
          {t.delete}
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
  const shown = folderName(folder);
  const [name, setName] = useState(shown);
  const [description, setDescription] = useState(folder.description);
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    const error = await update({ ...(name.trim() !== shown && { name: name.trim() }), description: description.trim() });
    setBusy(false);
    if (error) return setProblem(advise(error).text);
    announce(t.folders.saved(name.trim()));
    onClose();
  };
  return (
    <Dialog title={t.folders.editTitle} onClose={onClose}>
      <form className="stack" onSubmit={(event) => void submit(event)}>
        <label className="field">
          <span>{t.folders.name}</span>
          <input value={name} maxLength={100} onChange={(event) => setName(event.target.value)} autoComplete="off" aria-invalid={problem !== ''} />
        </label>
        <label className="field">
          <span>{t.folders.description}</span>
          <textarea rows={3} value={description} maxLength={1000} onChange={(event) => setDescription(event.target.value)} placeholder={t.folders.descriptionHint} />
        </label>
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" className="button strong" disabled={!name.trim()} aria-busy={busy}>
          {t.save}
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
    announce(t.folders.deleted(folder.name));
    location.replace(links.folders);
  };
  return (
    <Dialog title={t.folders.deleteTitle} onClose={onClose}>
      <p className="picker-what">{folder.name}</p>
      {folder.itemCount > 0 && (
        <div className="folders-choice" role="group" aria-label={t.folders.ofItems}>
          <button type="button" className="choice" aria-pressed={to === null} onClick={() => setTo(null)}>
            <Icon name={to === null ? 'check' : 'close'} />
            <span className="choice-name">{t.folders.takeItemsOut(folder.itemCount)}</span>
          </button>
          <FolderPages
            choice={(other) =>
              other.id !== folder.id &&
              other.id !== futureDefaultFolder.id && (
                <button type="button" className="choice" aria-pressed={to === other.id} onClick={() => setTo(other.id)}>
                  <Icon name={to === other.id ? 'check' : 'folder'} />
                  <span className="choice-name">{t.folders.moveItemsTo(folderName(other))}</span>
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
        {t.folders.delete}
      </button>
    </Dialog>
  );
}
