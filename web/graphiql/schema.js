import { useEffect, useState } from 'react';
import { buildSchema } from 'graphql';

const address = '/schema.graphqls';

// useSchema returns the schema as the server serves it, compressed: a tenth of the response
// to an introspection. It returns null until it is there, and undefined if the server does
// not show it, so that GraphiQL says why.
export function useSchema() {
  const [schema, setSchema] = useState(null);
  useEffect(() => {
    const left = new AbortController();
    const load = async () => {
      const response = await fetch(address, { signal: left.signal });
      return response.ok ? buildSchema(await response.text()) : undefined;
    };
    load().then(
      (found) => !left.signal.aborted && setSchema(found),
      () => !left.signal.aborted && setSchema(undefined),
    );
    return () => left.abort();
  }, []);
  return schema;
}
