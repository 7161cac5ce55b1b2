import { useState } from 'react';
import { Dialog } from '../ui/dialog';
import { ForUsers } from '../ui/empty';
import { FolderPages } from '../ui/folder-pages';
import { NewFolder } from '../ui/folder-picker';
import { Icon } from '../ui/icons';

// Folders shows the viewer's folders, each with the pictures of its latest items.
export function Folders() {
  const [making, setMaking] = useState(false);
  return (
    <>
      <header className="intro">
        <h1>Your folders</h1>
      </header>
      <ForUsers>
        <p className="tools">
          <button type="button" className="button strong" onClick={() => setMaking(true)}>
            <Icon name="plus" />
            New folder
          </button>
        </p>
        <div className="row-pages">
          <FolderPages />
        </div>
        {making && (
          <Dialog title="New folder" onClose={() => setMaking(false)}>
            <NewFolder onMade={() => setMaking(false)} />
          </Dialog>
        )}
      </ForUsers>
    </>
  );
}
