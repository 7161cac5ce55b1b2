import { useState } from 'react';
import { ask } from './api';
import { PersonDocument } from './operations';
import { Choice, Counts, kindsOf, More, Problem, SubjectLink, Table, When } from './parts';
import { usePolled } from './polled';

// Person shows one user: totals, likes, folders and reads. The requests are made as that
// user, because nobody else may see all of it.
export function Person({ tenant, id, kinds }: { tenant: string; id: string; kinds: readonly string[] }) {
  const [biz, setBiz] = useState('');
  const { value, problem } = usePolled(`user ${tenant} ${id} ${biz}`, (signal) => ask(tenant, PersonDocument, { userId: id, biz: biz || null }, signal, id));
  const user = value?.user;
  const filter = (
    <div className="fields">
      <Choice label="Kind" value={biz} of={kindsOf(kinds)} onChange={setBiz} />
    </div>
  );
  if (!user) return problem ? <Problem text={problem} /> : filter;
  const { totals, likes, folders, reads } = user;
  return (
    <>
      <Problem text={problem} />
      <section aria-labelledby="totals">
        <h2 id="totals">In all</h2>
        <Counts
          all={{
            Likes: totals.likes,
            Collected: totals.collections,
            Follows: totals.following,
            Followers: totals.followers,
            Comments: totals.comments,
            Works: totals.works,
            'Likes received': totals.likesReceived,
          }}
        />
        {filter}
      </section>
      <section aria-labelledby="likes">
        <h2 id="likes">Likes</h2>
        <Table
          caption="What the user likes, newest first"
          head={['Subject', 'When']}
          rows={likes.edges.map(({ node }) => [<SubjectLink key="subject" {...node.interactive} />, <When key="when" at={node.at} />])}
          empty="Nothing."
        />
        <More when={likes.pageInfo.hasNextPage} of="likes" />
      </section>
      <section aria-labelledby="folders">
        <h2 id="folders">Folders</h2>
        <Table
          caption="The user's folders, newest first"
          head={['Folder', 'Items', 'Seen by', 'The latest items']}
          rows={folders.edges.map(({ node }) => [
            node.name,
            node.itemCount,
            node.public ? 'everybody' : 'the user',
            <ul key="items" className="items">
              {node.items.edges.map(({ node: item }) => (
                <li key={item.id}>
                  <SubjectLink {...item.interactive} />
                </li>
              ))}
            </ul>,
          ])}
          empty="None."
        />
        <More when={folders.pageInfo.hasNextPage} of="folders" />
      </section>
      <section aria-labelledby="reads">
        <h2 id="reads">Reads</h2>
        <Table
          caption="What the user has read, latest first"
          head={['Subject', 'Times', 'Last']}
          rows={reads.edges.map(({ node }) => [<SubjectLink key="subject" {...node.interactive} />, node.times, <When key="when" at={node.lastAt} />])}
          empty="Nothing."
        />
        <More when={reads.pageInfo.hasNextPage} of="reads" />
      </section>
    </>
  );
}
