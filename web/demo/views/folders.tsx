import { useState } from 'react';
import { find } from '../content/catalogue';
import { keyOf } from '../api/subject';
import { links } from '../route';
import { Cover } from '../ui/cover';
import { Dialog } from '../ui/dialog';
import { ForUsers } from '../ui/empty';
import { FolderPages } from '../ui/folder-pages';
import { FolderFacts, NewFolder } from '../ui/folder-picker';
import { Icon } from '../ui/icons';

// Folders shows the viewer's folders, each with its latest pictures.
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
        <FolderPages
          shape="shelf"
          render={(folder) => (
            <a className="shelf" href={links.folder(folder.id)}>
              <span className="shelf-pile">
                {folder.items.edges.length === 0 && <Icon name="folder" />}
                {folder.items.edges.map(({ node: { interactive } }) => (
                  <Cover key={keyOf(interactive)} item={find(interactive.biz, interactive.bizId)} />
                ))}
              </span>
              <span className="shelf-name">{folder.name}</span>
              <FolderFacts folder={folder} />
            </a>
          )}
        />
        {making && (
          <Dialog title="New folder" onClose={() => setMaking(false)}>
            <NewFolder onMade={() => setMaking(false)} />
          </Dialog>
        )}
      </ForUsers>
    </>
  );
}
