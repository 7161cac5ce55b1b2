import { useMemo, useState } from 'react';
import { useQuery, useSubscription } from 'urql';
import { isContent, keyOf, type Subject } from '../api/subject';
import { find } from '../content/catalogue';
import { t } from '../messages';
import { CommentCountsDocument, FeedDocument, LiveDocument, MyReadsDocument, type MyReadsQuery } from '../operations';
import { links } from '../route';
import { Ago } from './ago';
import { Empty } from './empty';
import { useItem } from './item';
import { ItemDialog } from './item-dialog';
import { Pages, type PageProps } from './pages';
import { Picture } from './picture';

const atOnce = 20;

// Reads lists what the viewer has read. It shows no cards, because a card in view counts
// as a read.
export function Reads() {
  return (
    <Pages
      label={t.more.reads}
      auto
      query={MyReadsDocument}
      variables={(after) => ({ first: atOnce, after })}
      info={(data) => data.viewer?.reads.pageInfo}
      page={(props) => <ReadsPage {...props} />}
    />
  );
}

function ReadsPage({ data, first }: PageProps<MyReadsQuery>) {
  const reads = data?.viewer?.reads.edges.map(({ node }) => node).filter(({ interactive }) => isContent(interactive));
  if (!reads) return null;
  if (first && reads.length === 0) return <Empty icon="eye">{t.items.noReads}</Empty>;
  return (
    <ul className="person-rows">
      {reads.map((read) => (
        <ReadRow key={keyOf(read.interactive)} {...read} />
      ))}
    </ul>
  );
}

type Read = NonNullable<MyReadsQuery['viewer']>['reads']['edges'][number]['node'];

function ReadRow({ interactive, times, lastAt }: Read) {
  const [open, setOpen] = useState(false);
  const { item, coverUrl } = useItem(interactive.biz, interactive.bizId);
  return (
    <li className="person-row">
      <span className="read-picture">
        <Picture item={item} coverUrl={coverUrl} />
      </span>
      {coverUrl === undefined ? (
        <button type="button" className="read-title" aria-haspopup="dialog" onClick={() => setOpen(true)}>
          {item.title}
        </button>
      ) : (
        <a className="read-title" href={links.clip(interactive.bizId)}>
          {item.title}
        </a>
      )}
      <p className="facts">
        <span>
          {t.counts.times(times)}{t.comma}<Ago at={lastAt} />
        </span>
      </p>
      {open && <OpenItem {...interactive} onClose={() => setOpen(false)} />}
    </li>
  );
}

// OpenItem is an open item that has no card on the page.
function OpenItem({ biz, bizId, onClose }: Subject & { onClose: () => void }) {
  const variables = useMemo(() => ({ subjects: [{ biz, bizId }] }), [biz, bizId]);
  const [{ data }] = useQuery({ query: FeedDocument, variables, requestPolicy: 'cache-and-network' });
  const [{ data: comments }] = useQuery({ query: CommentCountsDocument, variables, requestPolicy: 'cache-and-network' });
  useSubscription({ query: LiveDocument, variables });
  return <ItemDialog item={find(biz, bizId)} counts={data?.interactives[0]} comments={comments?.interactives[0]?.commentCount} onClose={onClose} />;
}
