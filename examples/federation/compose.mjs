// Composes the supergraph of the two subgraphs, which have to be running.
//
//   node compose.mjs > supergraph.graphql
import { pathToFileURL } from 'node:url';
import { assertCompositionSuccess, composeServices } from '@theguild/federation-composition';
import { parse } from 'graphql';

export const subgraphs = [
  { name: 'articles', url: `${process.env.ARTICLES_URL ?? 'http://127.0.0.1:4001'}/graphql` },
  { name: 'ovation', url: `${process.env.OVATION_URL ?? 'http://127.0.0.1:8080'}/graphql` },
];

// compose returns the SDL of the supergraph. It fails if the subgraphs do not fit together.
export async function compose() {
  const services = await Promise.all(
    subgraphs.map(async ({ name, url }) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: '{ _service { sdl } }' }),
      });
      const { data, errors } = await response.json();
      if (errors) throw new Error(`${name}: ${errors[0].message}`);
      return { name, url, typeDefs: parse(data._service.sdl) };
    }),
  );
  const result = composeServices(services);
  assertCompositionSuccess(result);
  return result.supergraphSdl;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(await compose());
