import type { AnyVariables, DocumentInput } from '@urql/core';
import { useMemo } from 'react';
import { isContent, type Subject } from '../api/subject';
import type { ItemFragment } from '../operations';
import { Empty } from './empty';
import type { IconName } from './icons';
import { LiveCards } from './live-cards';
import { Pages } from './pages';

interface Props<Data, Variables extends AnyVariables> {
  readonly label: string; // of the button for the next page
  readonly query: DocumentInput<Data, Variables>;
  readonly variables: (after: string | null) => Variables;
  readonly list: (data: Data) => List | undefined;
  readonly icon: IconName;
  readonly none: string | undefined; // shown if the list is empty
  readonly shows?: (subject: Subject) => boolean; // whether an entry has a card; isContent if omitted
}

interface List {
  readonly edges: readonly { readonly node: ItemFragment | { readonly interactive: ItemFragment } }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

// Gallery shows a list of cards. It omits comments and people, which can be liked as
// well.
export function Gallery<Data, Variables extends AnyVariables>({ label, query, variables, list, ...rest }: Props<Data, Variables>) {
  return (
    <div className="gallery">
      <Pages
        label={label}
        auto
        query={query}
        variables={variables}
        info={(data) => list(data)?.pageInfo}
        page={({ data, first }) => <GalleryPage list={data && list(data)} first={first} {...rest} />}
      />
    </div>
  );
}

type PageProps = { list: List | undefined; first: boolean } & Pick<Props<unknown, AnyVariables>, 'icon' | 'none' | 'shows'>;

function GalleryPage({ list, first, icon, none, shows = isContent }: PageProps) {
  const edges = list?.edges;
  const cards = useMemo(() => edges?.map(({ node }) => ('interactive' in node ? node.interactive : node)).filter(shows), [edges, shows]);
  if (!list || !cards) return null;
  if (cards.length > 0) return <LiveCards subjects={cards} cards={cards} />;
  return first && none && !list.pageInfo.hasNextPage ? <Empty icon={icon}>{none}</Empty> : null;
}
