import { useLayoutEffect, useRef } from 'react';
import { keyOf, type Subject } from '../api/subject';
import { t } from '../messages';
import { FolderItemsDocument, type ItemFragment, type FolderItemsQuery } from '../operations';
import { links } from '../route';
import { useSession } from '../session';
import { Empty, ForUsers } from '../ui/empty';
import { FolderActions } from '../ui/folder-actions';
import { FolderFacts } from '../ui/folder-facts';
import { folderName } from '../ui/folder-name';
import { Icon } from '../ui/icons';
import { LiveCards } from '../ui/live-cards';
import { useName } from '../ui/name';
import { Pages, type PageProps } from '../ui/pages';

const atOnce = 20;

// Folder shows the items of one folder, latest collected first.
export function Folder({ id }: { id: string }) {
  return (
    <ForUsers>
      <Pages
        label={t.more.folderItems}
        auto
        query={FolderItemsDocument}
        variables={(after) => ({ id, first: atOnce, after })}
        info={(data) => data.folder?.items.pageInfo}
        page={(props) => <FolderPage {...props} id={id} />}
      />
    </ForUsers>
  );
}

function FolderPage({ data, first, id }: PageProps<FolderItemsQuery> & { id: string }) {
  const { userId } = useSession();
  const folder = data?.folder;
  // Items that the owner moved or removed disappear at once.
  const stays = (card: ItemFragment) => folder?.owner.userId !== userId || card.collected?.folder.id === id;
  const cards = folder?.items.edges.map(({ node }) => node.interactive).filter(stays);
  useFocusOnNext(cards);
  if (!data) return null;
  if (!folder || !cards) return <Empty icon="folder">{t.folders.missing}</Empty>;
  return (
    <>
      {first && <Head folder={folder} />}
      {cards.length === 0 && first ? <Empty icon="collect">{t.folders.empty}</Empty> : <LiveCards subjects={cards} cards={cards} />}
    </>
  );
}

// useFocusOnNext moves the focus from a card that leaves the list to the one in its place.
// Otherwise it would be lost with the card.
function useFocusOnNext(cards: readonly Subject[] | undefined): void {
  const before = useRef<readonly string[]>([]);
  useLayoutEffect(() => {
    if (!cards) return;
    const keys = cards.map(keyOf);
    const left = before.current.findIndex((key) => !keys.includes(key));
    before.current = keys;
    if (left < 0 || document.activeElement !== document.body) return;
    const next = keys[Math.min(left, keys.length - 1)];
    const main = document.getElementById('main');
    const card = [...(main?.querySelectorAll('article') ?? [])].find((one) => one.dataset['subject'] === next);
    (card?.querySelector<HTMLElement>('.action.collect') ?? main)?.focus({ preventScroll: true });
  });
}

function Head({ folder }: { folder: NonNullable<FolderItemsQuery['folder']> }) {
  const { userId } = useSession();
  const owner = folder.owner.userId;
  const name = useName(owner);
  return (
    <header className="intro">
      <div>
        <a className="back" href={owner === userId ? links.folders : links.person(owner, 'folders')}>
          <Icon name="back" />
          {owner === userId ? t.folders.back : t.folders.backTo(name)}
        </a>
        <h1>{folderName(folder)}</h1>
        {folder.description && <p>{folder.description}</p>}
        <FolderFacts folder={folder} />
      </div>
      {owner === userId && <FolderActions folder={folder} />}
    </header>
  );
}
