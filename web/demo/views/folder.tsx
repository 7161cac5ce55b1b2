import { FolderItemsDocument, type CardFragment, type FolderItemsQuery } from '../operations';
import { links } from '../route';
import { useSession } from '../session';
import { Empty, ForUsers } from '../ui/empty';
import { FolderFacts } from '../ui/folder-picker';
import { Icon } from '../ui/icons';
import { LiveCards } from '../ui/live-cards';
import { Pages, type PageProps } from '../ui/pages';

const atOnce = 20;

// Folder shows what lies in one folder, latest collected first.
export function Folder({ id }: { id: string }) {
  return (
    <ForUsers>
      <Pages
        label="items"
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
  // What its owner moved away or took out is gone at once.
  const stays = (card: CardFragment) => folder?.owner.userId !== userId || card.collected?.folder.id === id;
  const cards = folder?.items.edges.map(({ node }) => node.interactive).filter(stays);
  if (!data) return null;
  if (!folder || !cards) return <Empty icon="folder">There is no such folder, or it is not yours to see.</Empty>;
  return (
    <>
      {first && <Head folder={folder} />}
      {cards.length === 0 && first ? <Empty icon="keep">Nothing lies here yet.</Empty> : <LiveCards subjects={cards} cards={cards} />}
    </>
  );
}

function Head({ folder }: { folder: NonNullable<FolderItemsQuery['folder']> }) {
  return (
    <header className="intro">
      <div>
        <a className="back" href={links.folders}>
          <Icon name="back" />
          Folders
        </a>
        <h1>{folder.name}</h1>
        {folder.description && <p>{folder.description}</p>}
        <FolderFacts folder={folder} />
      </div>
    </header>
  );
}
