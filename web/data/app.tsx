import { useEffect, useState } from 'react';
import { Brand } from '../shared/brand';
import { Pages } from '../shared/pages';
import { look, type Survey } from './api';
import { Finder } from './finder';
import { Overview } from './overview';
import { ago, number, Problem } from './parts';
import { Person } from './person';
import { usePolled, type Polled } from './polled';
import { links, useRoute, type Route } from './route';
import { Subject } from './subject';
import { Tenant, useTitle } from './titles';

// The whole page: the state of the store, the form to find something, and the data.
export function App() {
  const [tenant, setTenant] = useState('');
  return (
    <Tenant.Provider value={tenant}>
      <header className="masthead">
        <Brand />
        <Pages current="Data" />
      </header>
      <Main tenant={tenant} onTenant={setTenant} />
    </Tenant.Provider>
  );
}

function Main({ tenant, onTenant }: { tenant: string; onTenant: (tenant: string) => void }) {
  const route = useRoute();
  const survey = usePolled(`survey ${tenant}`, (signal) => look<Survey>(tenant, 'survey', {}, signal));
  const kinds = survey.value?.kinds.map(({ biz }) => biz) ?? [];
  return (
    <main>
      <Head route={route} />
      <Status survey={survey} />
      <div className="tools">
        <Finder key={JSON.stringify(route)} kinds={kinds} />
        <label className="fields">
          <span>Tenant</span>
          <input value={tenant} onChange={(event) => onTenant(event.target.value.trim())} placeholder="default" {...plainText} />
        </label>
      </div>
      <Problem text={survey.problem} />
      {route.view === 'overview' && <Overview tenant={tenant} survey={survey.value} />}
      {route.view === 'subject' && <Subject tenant={tenant} biz={route.biz} bizId={route.bizId} />}
      {route.view === 'user' && <Person tenant={tenant} id={route.id} kinds={kinds} />}
    </main>
  );
}

// Head names what the page shows: by its title, with the id beside it.
function Head({ route }: { route: Route }) {
  const { biz, bizId } = route.view === 'subject' ? route : { biz: 'user', bizId: route.view === 'user' ? route.id : '' };
  const title = useTitle({ biz, bizId });
  const id = route.view === 'subject' ? `${biz} ${bizId}` : bizId;
  const name = route.view === 'overview' ? 'Data' : (title ?? id);
  useEffect(() => {
    document.title = `${name} · Ovation`;
  }, [name]);
  return (
    <div className="head">
      {route.view !== 'overview' && (
        <a className="up" href={links.overview}>
          All data
        </a>
      )}
      <h1>
        {name} {title !== undefined && <span className="id">{id}</span>}
      </h1>
    </div>
  );
}

// Status says whether accepted actions are stored, and how old the page is.
function Status({ survey: { value, problem } }: { survey: Polled<Survey> }) {
  const state = problem || value?.problem ? 'bad' : value?.waiting ? 'busy' : 'good';
  return (
    <p className="status" role="status" data-state={value || problem ? state : 'asking'}>
      {problem ? 'The server does not answer' : !value ? 'Looking …' : value.problem || lag(value)}
    </p>
  );
}

function lag({ waiting, persistedAt }: Survey): string {
  const stored = waiting === 0 ? 'Everything is stored' : `${number(waiting)} actions wait to be stored`;
  return persistedAt ? `${stored}. The last action was ${ago(persistedAt)}.` : `${stored}.`;
}

// Turns off what browsers do to text fields and is wrong for ids.
const plainText = { autoComplete: 'off', autoCapitalize: 'none', autoCorrect: 'off', spellCheck: false } as const;
