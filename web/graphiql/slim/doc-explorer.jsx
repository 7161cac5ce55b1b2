import { lazy, Suspense } from 'react';

const Loaded = lazy(async () => {
  const { DocExplorer } = await import('../../node_modules/@graphiql/plugin-doc-explorer/dist/components/doc-explorer.js');
  return { default: DocExplorer };
});

// DocExplorer is GraphiQL's documentation of the schema. It is loaded, with the packages that
// it alone needs, when it is opened.
export function DocExplorer(props) {
  return (
    <Suspense fallback={null}>
      <Loaded {...props} />
    </Suspense>
  );
}
