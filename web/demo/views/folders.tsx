import { t } from '../messages';
import { ForUsers } from '../ui/empty';
import { FolderPages } from '../ui/folder-pages';
import { NewFolderButton } from '../ui/new-folder-button';

// Folders shows the viewer's folders, each with the pictures of its latest items.
export function Folders() {
  return (
    <>
      <header className="intro">
        <h1>{t.titles.folders}</h1>
      </header>
      <ForUsers>
        <NewFolderButton />
        <div className="row-pages">
          <FolderPages />
        </div>
      </ForUsers>
    </>
  );
}
