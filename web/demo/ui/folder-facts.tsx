import type { FolderFragment } from '../operations';
import { Icon } from './icons';

// FolderFacts shows how many items a folder has, and who sees it.
export function FolderFacts({ folder }: { folder: FolderFragment }) {
  return (
    <span className="facts">
      {folder.itemCount} {folder.itemCount === 1 ? 'item' : 'items'}
      <Icon name={folder.public ? 'globe' : 'lock'} />
      <span className="unseen">{folder.public ? 'public' : 'only you see it'}</span>
    </span>
  );
}
