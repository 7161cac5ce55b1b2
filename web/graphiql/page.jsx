import { useEffect, useMemo, useRef, useState } from 'react';
import { GraphiQL } from 'graphiql';
import { parse, print } from 'graphql';
import { newFetcher } from './fetcher.js';
import { newTabQuery, presets } from './presets.js';
import { loadViewer, storeViewer } from './viewer.js';
import { ViewerBar } from './viewer-bar.jsx';

// The whole page: who is asking, and below it GraphiQL.
export function Page() {
  const [start] = useState(readStart);
  const [viewer, setViewer] = useState(() => loadViewer(start.user));

  // GraphiQL fetches the schema anew with each new fetcher. So there is one,
  // and it looks the viewer up when it sends something.
  const current = useRef(viewer);
  const fetcher = useMemo(() => newFetcher('/graphql', () => current.current), []);

  useEffect(() => {
    current.current = viewer;
    storeViewer(viewer);
  }, [viewer]);

  return (
    <div className="ovation graphiql-container">
      <ViewerBar viewer={viewer} onChange={setViewer} />
      <GraphiQL
        fetcher={fetcher}
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
      </GraphiQL>
    </div>
  );
}

// readStart tells what to open. An operation in the address comes first: it
// is taken out of the address, so that a reload keeps what was edited since.
// Otherwise GraphiQL opens what it stored, or, at the first visit, the presets.
function readStart() {
  const params = new URLSearchParams(location.search);
  if (location.search) history.replaceState(null, '', location.pathname);

  const start = { user: params.get('user'), tabs: presets };
  if (params.has('query')) {
    const linked = { query: params.get('query'), variables: params.get('variables') ?? '' };
    Object.assign(start, linked, { tabs: [linked, ...presets] });
  } else if (read('tabState') === null) {
    // GraphiQL shows the first tab's query by itself, but not its variables.
    Object.assign(start, presets[0]);
  }
  // GraphiQL stores what is edited, but not what it was given. At the next
  // visit it would take the tab that is open now for another one.
  for (const name of ['query', 'variables']) {
    if (start[name] !== undefined) write(name, start[name]);
  }
  return start;
}

// read and write what GraphiQL keeps under a name of its own.
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
    // Storage is blocked or full: there is no next visit to prepare.
  }
}

// prettify formats an operation and keeps the comment above it, which the
// printer of graphql-js leaves out.
function prettify(query) {
  const comment = /^(\s*#.*\n)*/.exec(query)[0];
  return comment + print(parse(query));
}
