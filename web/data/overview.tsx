import { useState } from 'react';
import { look, type HotSubject, type Survey } from './api';
import { number, Problem, SubjectLink, Table, UserLink } from './parts';
import { usePolled } from './polled';

const columns = { readCount: 'Reads', readerCount: 'Readers', likeCount: 'Likes', dislikeCount: 'Dislikes', collectCount: 'Collected', followerCount: 'Followers' } as const;
type By = keyof typeof columns;
const counts = Object.keys(columns) as By[];

// Overview shows the totals of the store, and the subjects with the most activity.
export function Overview({ tenant, survey }: { tenant: string; survey: Survey | null }) {
  return (
    <>
      {survey && <Kinds survey={survey} />}
      <Hottest tenant={tenant} kinds={survey?.kinds.map(({ biz }) => biz) ?? []} />
    </>
  );
}

function Kinds({ survey }: { survey: Survey }) {
  const { kinds, users, folders } = survey;
  const sums = counts.map((name) => kinds.reduce((sum, kind) => sum + kind[name], 0));
  const subjects = kinds.reduce((sum, kind) => sum + kind.subjects, 0);
  const comments = kinds.reduce((sum, kind) => sum + kind.comments, 0);
  return (
    <section aria-labelledby="kinds">
      <h2 id="kinds">What is stored</h2>
      <p>
        {number(subjects)} subjects, {number(users)} users who like, follow, collect or write something, {number(folders)} folders.
      </p>
      <Table
        caption="Kinds of content"
        head={['Kind', 'Subjects', ...Object.values(columns), 'Comments']}
        rows={[
          ...kinds.map((kind) => [kind.biz, kind.subjects, ...counts.map((name) => kind[name]), kind.comments]),
          ...(kinds.length > 1 ? [[<strong key="all">all</strong>, subjects, ...sums, comments]] : []),
        ]}
        empty="Nothing is stored yet. Run ovation dev with --demo, ovation import, or send a mutation."
      />
    </section>
  );
}

function Hottest({ tenant, kinds }: { tenant: string; kinds: readonly string[] }) {
  const [by, setBy] = useState<By>('readCount');
  const [biz, setBiz] = useState('');
  const { value, problem } = usePolled(`hottest ${tenant} ${biz} ${by}`, (signal) => look<HotSubject[]>(tenant, 'hottest', { by, biz }, signal));
  return (
    <section aria-labelledby="hottest">
      <h2 id="hottest">Hottest subjects</h2>
      <div className="fields">
        <label>
          <span>By</span>
          <select value={by} onChange={(event) => setBy(event.target.value as By)}>
            {counts.map((name) => (
              <option key={name} value={name}>
                {columns[name]}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>Kind</span>
          <select value={biz} onChange={(event) => setBiz(event.target.value)}>
            <option value="">every kind</option>
            {kinds.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </label>
      </div>
      <Problem text={problem} />
      {value && (
        <Table
          caption={`The subjects with the highest count of: ${columns[by]}`}
          head={['Subject', ...Object.values(columns), 'Author']}
          rows={value.map((one) => [
            <SubjectLink key="subject" {...one} />,
            ...counts.map((name) => one[name]),
            one.author ? <UserLink key="author" id={one.author} /> : '',
          ])}
          empty="No subject has any."
        />
      )}
    </section>
  );
}
