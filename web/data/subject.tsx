import { useState } from 'react';
import { ask, look, type Activity, type Change } from './api';
import { SubjectDocument } from './operations';
import { ago, Choice, Counts, More, number, Problem, Table, UserLink, When } from './parts';
import { usePolled } from './polled';
import { Spark } from './spark';

const first = '100'; // number of changes shown
const seldom = 15_000; // milliseconds

const whats = { '': 'everything', reaction: 'likes and dislikes', folder: 'collections', follow: 'follows', read: 'reads' } as const;

const currency = {
  LIVE: 'These counts are up to date.',
  STALE: 'These counts may be outdated.',
  UNAVAILABLE: 'The counts are unavailable at the moment.',
  HIDDEN: 'The counts are hidden.',
} as const;

// Subject shows one subject: its counts, its likers, and its latest changes.
export function Subject({ tenant, biz, bizId }: { tenant: string; biz: string; bizId: string }) {
  const key = `${tenant} ${biz} ${bizId}`;
  const subject = usePolled(`subject ${key}`, (signal) => ask(tenant, SubjectDocument, { biz, bizId }, signal));
  const history = usePolled(`history ${key}`, (signal) => look<Change[]>(tenant, 'history', { biz, bizId, first }, signal));
  const { value: activity } = usePolled(`activity ${key}`, (signal) => look<Activity[]>(tenant, 'activity', { biz, bizId }, signal), seldom);
  const found = subject.value?.interactive;
  const last = history.value?.[0]?.at;
  return (
    <>
      <Problem text={subject.problem} />
      {found && (
        <section aria-labelledby="counts">
          <h2 id="counts">Counts</h2>
          <p>
            {found.version === 0 ? 'No actions yet.' : currency[found.freshness]} {last && `The last change was ${ago(last)}.`}{' '}
            {found.author && (
              <>
                The author is <UserLink id={found.author.userId} />.
              </>
            )}
          </p>
          <Counts
            all={{
              Reads: found.readCount,
              Readers: found.readerCount,
              Likes: found.likeCount,
              Dislikes: found.dislikeCount,
              Collected: found.collectCount,
              Followers: found.followerCount,
              Comments: found.commentCount,
            }}
          />
          {activity && (
            <p className="day">
              Last day <Spark hours={activity[0]?.hours} />
            </p>
          )}
          <Table
            caption="Who likes it, newest first"
            head={['User', 'When']}
            rows={found.likers.edges.map(({ node }) => [<UserLink key="user" id={node.user.userId} />, <When key="when" at={node.at} />])}
            empty="Nobody does."
          />
          <More when={found.likers.pageInfo.hasNextPage} of="likes" />
        </section>
      )}
      <History changes={history.value} problem={history.problem} />
    </>
  );
}

function History({ changes, problem }: { changes: readonly Change[] | null; problem: string }) {
  const [what, setWhat] = useState<keyof typeof whats>('');
  const [user, setUser] = useState('');
  const shown = changes?.filter((change) => (what === '' || change.what === what) && change.user.includes(user.trim()));
  return (
    <section aria-labelledby="history">
      <h2 id="history">History</h2>
      <p>The latest change of what each user did, newest first. Comments are in the demo and in the API.</p>
      <div className="fields">
        <Choice label="What" value={what} of={whats} onChange={setWhat} />
        <label>
          <span>By user</span>
          <input value={user} onChange={(event) => setUser(event.target.value)} placeholder="anybody" autoComplete="off" autoCapitalize="none" spellCheck={false} />
        </label>
      </div>
      <Problem text={problem} />
      {shown && (
        <Table
          caption="Changes, newest first"
          head={['When', 'User', 'What']}
          rows={shown.map((change) => [<When key="when" at={change.at} />, <UserLink key="user" id={change.user} />, says(change)])}
          empty={changes?.length === 0 ? 'No changes yet.' : 'No such changes among the latest ones.'}
        />
      )}
    </section>
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
