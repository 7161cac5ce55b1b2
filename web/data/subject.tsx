import { ask, look, type Change } from './api';
import { SubjectDocument } from './operations';
import { More, number, Problem, Table, UserLink, When } from './parts';
import { usePolled } from './polled';

const first = '100'; // number of changes shown

// Subject shows one subject: its counts, its likers, and its latest changes.
export function Subject({ tenant, biz, bizId }: { tenant: string; biz: string; bizId: string }) {
  const key = `${tenant} ${biz} ${bizId}`;
  const subject = usePolled(`subject ${key}`, (signal) => ask(tenant, SubjectDocument, { biz, bizId }, signal));
  const history = usePolled(`history ${key}`, (signal) => look<Change[]>(tenant, 'history', { biz, bizId, first }, signal));
  const found = subject.value?.interactive;
  return (
    <>
      <Problem text={subject.problem} />
      {found && (
        <section aria-labelledby="counts">
          <h2 id="counts">
            {biz} {bizId}
          </h2>
          <p>
            {found.version === 0 ? 'No actions yet.' : `Version ${number(found.version)} of its counts, freshness ${found.freshness}.`}{' '}
            {found.author && (
              <>
                Its author is <UserLink id={found.author.userId} />.
              </>
            )}
          </p>
          <dl className="counts">
            {Object.entries({
              Reads: found.readCount,
              Readers: found.readerCount,
              Likes: found.likeCount,
              Dislikes: found.dislikeCount,
              Collected: found.collectCount,
              Followers: found.followerCount,
              Comments: found.commentCount,
            }).map(([name, count]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{number(count)}</dd>
              </div>
            ))}
          </dl>
          <Table
            caption="Who likes it, newest first"
            head={['User', 'When']}
            rows={found.likers.edges.map(({ node }) => [<UserLink key="user" id={node.user.userId} />, <When key="when" at={node.at} />])}
            empty="Nobody does."
          />
          <More when={found.likers.pageInfo.hasNextPage} of="likes" />
        </section>
      )}
      <section aria-labelledby="history">
        <h2 id="history">History</h2>
        <p>The latest change of what each user did, newest first. Comments are in the demo and in the API.</p>
        <Problem text={history.problem} />
        {history.value && (
          <Table
            caption="Changes, newest first"
            head={['When', 'User', 'What']}
            rows={history.value.map((change) => [<When key="when" at={change.at} />, <UserLink key="user" id={change.user} />, says(change)])}
            empty="No changes yet."
          />
        )}
      </section>
    </>
  );
}

// says describes a change.
function says({ what, was, is, times }: Change): string {
  if (what === 'read') return times === 1 ? 'read it' : `read it ${number(times)} times, this the last`;
  if (what === 'follow') return is ? 'follows it' : 'unfollowed it';
  if (what === 'folder') {
    if (!is) return was ? `removed it from “${was}”` : 'removed it from a folder';
    return was && was !== is ? `moved it from “${was}” to “${is}”` : `put it into “${is}”`;
  }
  if (!is) return was ? `removed the ${was}` : 'removed a reaction';
  return was && was !== is ? `${is}s it, instead of a ${was}` : `${is}s it`;
}
