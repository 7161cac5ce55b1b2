import { t } from '../messages';
import type { FolderFragment } from '../operations';
import { Icon } from './icons';

// FolderFacts shows how many items a folder has, and who sees it.
export function FolderFacts({ folder }: { folder: FolderFragment }) {
  return (
    <span className="facts">
      {t.counts.items(folder.itemCount)}
      <Icon name={folder.public ? 'globe' : 'lock'} />
      <span className="unseen">{folder.public ? t.folders.public : t.folders.private}</span>
    </span>
  );
}
