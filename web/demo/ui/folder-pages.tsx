import type { Client } from '@urql/core';
import type { ReactNode } from 'react';
import { MyFoldersDocument, type MyFoldersQuery } from '../operations';
import { Empty } from './empty';
import { Pages, type PageProps } from './pages';

type FolderNode = NonNullable<MyFoldersQuery['viewer']>['folders']['edges'][number]['node'];

const atOnce = 20;

// defaultToBe stands for the default folder while there is none yet.
export const defaultToBe: FolderNode = {
  __typename: 'Folder',
  id: 'default',
  name: 'Default',
  description: '',
  public: false,
  default: true,
  itemCount: 0,
  items: { __typename: 'CollectedConnection', edges: [] },
};

// readFoldersAgain reads the first page of the viewer's folders into the cache.
export function readFoldersAgain(client: Client): void {
  void client.query(MyFoldersDocument, { first: atOnce, after: null }, { requestPolicy: 'network-only' }).toPromise();
}

// FolderPages lists the viewer's folders, page by page.
export function FolderPages({ shape, render }: { shape: 'choice' | 'shelf'; render: (folder: FolderNode) => ReactNode }) {
  return (
    <Pages
      label="folders"
      query={MyFoldersDocument}
      variables={(after) => ({ first: atOnce, after })}
      info={(data) => data.viewer?.folders.pageInfo}
      page={(props) => <FolderPage {...props} shape={shape} render={render} />}
    />
  );
}

function FolderPage({ data, first, shape, render }: PageProps<MyFoldersQuery> & { shape: string; render: (folder: FolderNode) => ReactNode }) {
  const { edges, pageInfo } = data?.viewer?.folders ?? {};
  if (!edges) return null;
  const folders = edges.map(({ node }) => node);
  // The default folder is made when something is first put there.
  if (shape === 'choice' && first && !pageInfo?.hasNextPage && !folders.some((folder) => folder.default)) folders.unshift(defaultToBe);
  if (first && folders.length === 0) return <Empty icon="folder">No folders yet. The first comes with what you keep, or make one.</Empty>;
  return (
    <ul className={`folders-${shape}`}>
      {folders.map((folder) => (
        <li key={folder.id}>{render(folder)}</li>
      ))}
    </ul>
  );
}
