import type { Client } from '@urql/core';
import type { ReactNode } from 'react';
import { keyOf, type Subject } from '../api/subject';
import { t } from '../messages';
import { MyFoldersDocument, type FolderShelfFragment, type MyFoldersQuery } from '../operations';
import { links } from '../route';
import { Empty } from './empty';
import { FolderFacts } from './folder-facts';
import { folderName } from './folder-name';
import { Icon } from './icons';
import { useItem } from './item';
import { Pages, type PageProps } from './pages';
import { Picture } from './picture';

const atOnce = 20;

// futureDefaultFolder is a placeholder for the default folder until it exists.
export const futureDefaultFolder: FolderShelfFragment = {
  __typename: 'Folder',
  id: 'default',
  name: 'Default',
  description: '',
  public: false,
  default: true,
  itemCount: 0,
  items: { __typename: 'CollectedConnection', edges: [] },
};

// refetchFolders refetches the first page of the viewer's folders.
export function refetchFolders(client: Client): void {
  void client.query(MyFoldersDocument, { first: atOnce, after: null }, { requestPolicy: 'network-only' }).toPromise();
}

// FolderPages lists the viewer's folders page by page, as shelves or as choices. Folders
// for which there is no choice are omitted.
export function FolderPages({ choice }: { choice?: (folder: FolderShelfFragment) => ReactNode }) {
  return (
    <Pages
      label={t.more.folders}
      query={MyFoldersDocument}
      variables={(after) => ({ first: atOnce, after })}
      info={(data) => data.viewer?.folders.pageInfo}
      page={(props) => <FolderPage {...props} choice={choice} />}
    />
  );
}

function FolderPage({ data, first, choice }: PageProps<MyFoldersQuery> & { choice: ((folder: FolderShelfFragment) => ReactNode) | undefined }) {
  const { edges, pageInfo } = data?.viewer?.folders ?? {};
  if (!edges) return null;
  const folders = edges.map(({ node }) => node);
  // The default folder is created when an item is first collected into it.
  if (choice && first && !pageInfo?.hasNextPage && !folders.some((folder) => folder.default)) folders.unshift(futureDefaultFolder);
  if (first && folders.length === 0) return <Empty icon="folder">{t.folders.none}</Empty>;
  if (!choice) return <FolderShelves folders={folders} />;
  return (
    <ul className="folders-choice">
      {folders.map((folder) => {
        const chosen = choice(folder);
        return chosen && <li key={folder.id}>{chosen}</li>;
      })}
    </ul>
  );
}

let from = ''; // the previous view, as in links
addEventListener('hashchange', ({ oldURL }) => {
  from = new URL(oldURL).hash;
});

// takeFocus returns the focus to the shelf of the folder that was left, unless another
// element has it.
function takeFocus(shelf: HTMLElement | null): void {
  if (!shelf) return;
  from = '';
  const { activeElement } = document;
  if (activeElement === document.body || activeElement === document.getElementById('main')) shelf.focus();
}

// FolderShelves shows folders, each with the pictures of its latest items.
export function FolderShelves({ folders }: { folders: readonly FolderShelfFragment[] }) {
  return (
    <ul className="folders-shelf">
      {folders.map((folder) => (
        <li key={folder.id}>
          <a className="shelf" ref={from === links.folder(folder.id) ? takeFocus : undefined} href={links.folder(folder.id)}>
            <span className="shelf-pile">
              {folder.items.edges.length === 0 && <Icon name="folder" />}
              {folder.items.edges.map(({ node: { interactive } }) => (
                <ShelfPicture key={keyOf(interactive)} {...interactive} />
              ))}
            </span>
            <span className="shelf-name">{folderName(folder)}</span>
            <FolderFacts folder={folder} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function ShelfPicture({ biz, bizId }: Subject) {
  const { item, coverUrl } = useItem(biz, bizId);
  return <Picture item={item} coverUrl={coverUrl} />;
}
