import type { AnyVariables, DocumentInput } from '@urql/core';
import { useMemo } from 'react';
import { isContent } from '../api/subject';
import type { ItemFragment } from '../operations';
import { Empty } from './empty';
import type { IconName } from './icons';
import { LiveCards } from './live-cards';
import { Pages } from './pages';

interface Props<Data, Variables extends AnyVariables> {
  readonly label: string; // names the entries, for the More button
  readonly query: DocumentInput<Data, Variables>;
  readonly variables: (after: string | null) => Variables;
  readonly list: (data: Data) => List | undefined;
  readonly icon: IconName;
  readonly none: string; // shown if the list is empty
}

interface List {
  readonly edges: readonly { readonly node: ItemFragment | { readonly interactive: ItemFragment } }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

// Gallery shows a list of cards. It omits comments and people, which can be liked as
// well.
export function Gallery<Data, Variables extends AnyVariables>({ label, query, variables, list, icon, none }: Props<Data, Variables>) {
  return (
    <div className="gallery">
      <Pages
        label={label}
        auto
        query={query}
        variables={variables}
        info={(data) => list(data)?.pageInfo}
        page={({ data, first }) => <GalleryPage list={data && list(data)} first={first} icon={icon} none={none} />}
      />
    </div>
  );
}

function GalleryPage({ list, first, icon, none }: { list: List | undefined; first: boolean } & Pick<Props<unknown, AnyVariables>, 'icon' | 'none'>) {
  const edges = list?.edges;
  const cards = useMemo(() => edges?.map(({ node }) => ('interactive' in node ? node.interactive : node)).filter(isContent), [edges]);
  if (!list || !cards) return null;
  if (cards.length > 0) return <LiveCards subjects={cards} cards={cards} />;
  return first && !list.pageInfo.hasNextPage ? <Empty icon={icon}>{none}</Empty> : null;
}
