import { useEffect, useState, type FormEvent } from 'react';
import { look, type Survey } from './api';
import { ago, number, Problem } from './parts';
import { Overview } from './overview';
import { Person } from './person';
import { usePolled, type Polled } from './polled';
import { links, useRoute, type Route } from './route';
import { Subject } from './subject';

// The whole page: the state of the store, the form to find something, and the data.
export function App() {
  const route = useRoute();
  const [tenant, setTenant] = useState('');
  const survey = usePolled(`survey ${tenant}`, (signal) => look<Survey>(tenant, 'survey', {}, signal));
  const title = route.view === 'subject' ? `${route.biz} ${route.bizId}` : route.view === 'user' ? route.id : 'Data';
  useEffect(() => {
    document.title = `${title} · Ovation`;
  }, [title]);
  return (
    <>
      <header className="top">
        <h1>
          <a href={links.overview}>Data</a>
        </h1>
        <Status survey={survey} />
        <nav aria-label="Pages">
          <a href="/">GraphiQL</a>
          <a href="/demo">Demo</a>
        </nav>
      </header>
      <main>
        <Finder key={JSON.stringify(route)} route={route} tenant={tenant} onTenant={setTenant} />
        <Problem text={survey.problem} />
        {route.view === 'overview' && <Overview tenant={tenant} survey={survey.value} />}
        {route.view === 'subject' && <Subject tenant={tenant} biz={route.biz} bizId={route.bizId} />}
        {route.view === 'user' && <Person tenant={tenant} id={route.id} />}
      </main>
    </>
  );
}

// Status says whether accepted actions are stored, and how old the page is.
function Status({ survey: { value, problem } }: { survey: Polled<Survey> }) {
  const state = problem || value?.problem ? 'bad' : value?.waiting ? 'busy' : 'good';
  return (
    <p className="status" role="status" data-state={value || problem ? state : 'asking'}>
      {problem ? 'No answer' : !value ? 'Looking …' : value.problem || lag(value)}
    </p>
  );
}

function lag({ waiting, persistedAt }: Survey): string {
  const stored = waiting === 0 ? 'Everything accepted is stored' : `${number(waiting)} actions are not persisted yet`;
  return persistedAt ? `${stored}; last ${ago(persistedAt)}` : stored;
}

// Finder leads to a subject or a user.
function Finder({ route, tenant, onTenant }: { route: Route; tenant: string; onTenant: (tenant: string) => void }) {
  const [biz, setBiz] = useState(route.view === 'subject' ? route.biz : 'video');
  const [bizId, setBizId] = useState(route.view === 'subject' ? route.bizId : '');
  const [user, setUser] = useState(route.view === 'user' ? route.id : '');
  const go = (to: string) => (event: FormEvent) => {
    event.preventDefault();
    location.hash = to;
  };
  return (
    <div className="finder">
      <form className="fields" role="search" aria-label="Find a subject" onSubmit={go(links.subject(biz.trim(), bizId.trim()))}>
        <label>
          <span>Kind</span>
          <input value={biz} onChange={(event) => setBiz(event.target.value)} required {...plainText} />
        </label>
        <label>
          <span>Id</span>
          <input value={bizId} onChange={(event) => setBizId(event.target.value)} required placeholder="1" {...plainText} />
        </label>
        <button type="submit">Show subject</button>
      </form>
      <form className="fields" role="search" aria-label="Find a user" onSubmit={go(links.user(user.trim()))}>
        <label>
          <span>User</span>
          <input value={user} onChange={(event) => setUser(event.target.value)} required placeholder="alice" {...plainText} />
        </label>
        <button type="submit">Show user</button>
      </form>
      <label className="fields">
        <span>Tenant</span>
        <input value={tenant} onChange={(event) => onTenant(event.target.value.trim())} placeholder="default" {...plainText} />
      </label>
    </div>
  );
}

// Turns off what browsers do to text fields and is wrong for ids.
const plainText = { autoComplete: 'off', autoCapitalize: 'none', autoCorrect: 'off', spellCheck: false } as const;
