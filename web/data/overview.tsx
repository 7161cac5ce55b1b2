import { useState } from 'react';
import { look, type Activity, type HotSubject, type Survey } from './api';
import { Choice, kindsOf, number, Problem, SubjectLink, Table, UserLink } from './parts';
import { usePolled } from './polled';
import { Spark, sumOf } from './spark';

const columns = { readCount: 'Reads', readerCount: 'Readers', likeCount: 'Likes', dislikeCount: 'Dislikes', collectCount: 'Collected', followerCount: 'Followers' } as const;
type By = keyof typeof columns;
const counts = Object.keys(columns) as By[];

// Overview shows the totals of the store, and the subjects with the most activity.
export function Overview({ tenant, survey }: { tenant: string; survey: Survey | null }) {
  return (
    <>
      {survey && <Kinds tenant={tenant} survey={survey} />}
      <Hottest tenant={tenant} kinds={survey?.kinds.map(({ biz }) => biz) ?? []} />
    </>
  );
}

const seldom = 30_000; // milliseconds: the hours of the day change little

function Kinds({ tenant, survey }: { tenant: string; survey: Survey }) {
  const { value: activity } = usePolled(`activity ${tenant}`, (signal) => look<Activity[]>(tenant, 'activity', {}, signal), seldom);
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
        head={['Kind', 'Subjects', ...Object.values(columns), 'Comments', 'Last day']}
        rows={[
          ...kinds.map((kind) => [kind.biz, kind.subjects, ...counts.map((name) => kind[name]), kind.comments, activity && <Spark key="day" hours={activity.find(({ biz }) => biz === kind.biz)?.hours} />]),
          ...(kinds.length > 1 ? [[<strong key="all">all</strong>, subjects, ...sums, comments, activity && <Spark key="day" hours={sumOf(activity.map(({ hours }) => hours))} />]] : []),
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
        <Choice label="By" value={by} of={columns} onChange={setBy} />
        <Choice label="Kind" value={biz} of={kindsOf(kinds)} onChange={setBiz} />
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
