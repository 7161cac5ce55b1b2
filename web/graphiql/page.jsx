import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { GraphiQL } from 'graphiql';
import { parse, print } from 'graphql';
import { newFetcher } from './fetcher.js';
import { newTabQuery, presets } from './presets.js';
import { useSchema } from './schema.js';
import { AtCursor, CopyAs, FirstRun, Labels } from './tools.jsx';
import { useViewer } from './viewer.js';
import { ViewerBar } from './viewer-bar.jsx';

const endpoint = '/graphql';
const noticeFor = 4_000; // milliseconds

// The whole page: the viewer bar, and below it GraphiQL.
export function Page() {
  const [start] = useState(readStart);
  const { viewer, setViewer, standing, names, opening } = useViewer(endpoint, start.user);
  const schema = useSchema();
  const [operationName, setOperationName] = useState(); // what the button runs, see AtCursor
  const [notice, setNotice] = useState({ text: '' }); // a new object starts the time anew, also with the same text

  // GraphiQL fetches the schema again for each new fetcher. So there is only one, which looks
  // up the viewer for each request.
  const current = useRef(viewer);
  const fetcher = useMemo(() => newFetcher(endpoint, () => current.current), []);
  current.current = viewer;

  useEffect(() => {
    if (!notice.text) return undefined;
    const timer = setTimeout(() => setNotice({ text: '' }), noticeFor);
    return () => clearTimeout(timer);
  }, [notice]);
  const tell = useCallback((text) => setNotice({ text }), []);

  return (
    <main className="ovation graphiql-container">
      <ViewerBar viewer={viewer} onChange={setViewer} standing={standing} names={names} notice={notice.text} />
      {!opening && (
        <GraphiQL
          fetcher={fetcher}
          operationName={operationName}
          schema={schema}
          query={start.query}
          variables={start.variables}
          defaultTabs={start.tabs}
          defaultQuery={newTabQuery}
          defaultEditorToolsVisibility="variables"
          onPrettifyQuery={prettify}
        >
          <GraphiQL.Logo>
            <span />
          </GraphiQL.Logo>
          <GraphiQL.Toolbar>
            {({ prettify, merge, copy }) => (
              <>
                {prettify}
                {merge}
                {copy}
                <CopyAs url={new URL(endpoint, location.href).href} viewer={viewer} onCopied={tell} />
                <Labels />
                <AtCursor onChange={setOperationName} />
                {start.first && <FirstRun />}
              </>
            )}
          </GraphiQL.Toolbar>
        </GraphiQL>
      )}
    </main>
  );
}

// readStart returns what to open. An operation in the address takes precedence: it is removed
// from the address, so that a reload keeps later edits. Otherwise GraphiQL opens what it
// stored or, at the first visit, the presets.
function readStart() {
  const params = new URLSearchParams(location.search);
  if (location.search) history.replaceState(null, '', location.pathname);

  const start = { user: params.get('user') ?? undefined, tabs: presets, first: false };
  if (params.has('query')) {
    const linked = { query: params.get('query'), variables: params.get('variables') ?? '' };
    Object.assign(start, linked, { tabs: [linked, ...presets] });
  } else if (read('tabState') === null) {
    // GraphiQL itself shows the first tab's query, but not its variables.
    Object.assign(start, presets[0], { first: true });
  }
  // GraphiQL stores edits, but not what it was given. At the next visit it would mistake the
  // tab that is open now for another one.
  for (const name of ['query', 'variables']) {
    if (start[name] !== undefined) write(name, start[name]);
  }
  return start;
}

// read and write access what GraphiQL stores under a name of its own.
function read(name) {
  try {
    return localStorage.getItem(`graphiql:${name}`);
  } catch {
    return null; // storage is blocked: every visit is the first
  }
}

function write(name, value) {
  try {
    localStorage.setItem(`graphiql:${name}`, value);
  } catch {
    // Storage is blocked or full: there is nothing to prepare for the next visit.
  }
}

// prettify formats an operation and keeps the comment above it, which graphql-js omits when
// printing.
function prettify(query) {
  const comment = /^(\s*#.*\n)*/.exec(query)[0];
  return comment + print(parse(query));
}
