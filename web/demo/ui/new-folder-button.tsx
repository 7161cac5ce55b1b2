import { useState } from 'react';
import { t } from '../messages';
import { Dialog } from './dialog';
import { NewFolder } from './folder-picker';
import { Icon } from './icons';

// NewFolderButton opens the dialog for a new folder.
export function NewFolderButton() {
  const [making, setMaking] = useState(false);
  return (
    <div className="tools">
      <button type="button" className="button strong" onClick={() => setMaking(true)}>
        <Icon name="plus" />
        {t.folders.new}
      </button>
      {making && (
        <Dialog title={t.folders.new} onClose={() => setMaking(false)}>
          <NewFolder onMade={() => setMaking(false)} />
        </Dialog>
      )}
    </div>
  );
}
