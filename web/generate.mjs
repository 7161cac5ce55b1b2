// Writes the files that derive from ../schema.graphqls: operations/index.ts of each page
// with operations, which has the types of the *.graphql files beside it, and
// client/src/schema.ts, which has what caches need to know about the schema.
//
//   node generate.mjs           writes them
//   node generate.mjs --check   exits with 1 if a file is not up to date
//
// It calls graphql-codegen's plugins without its command line, which would add five
// times as many packages.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codegen } from '@graphql-codegen/core';
import * as documentPlugin from '@graphql-codegen/typed-document-node';
import * as typesPlugin from '@graphql-codegen/typescript-operations';
import { parse } from 'graphql';

const schema = parse(readFileSync(join(import.meta.dirname, '..', 'schema.graphqls'), 'utf8'));

for (const page of ['demo', 'data']) put(`${page}/operations/index.ts`, await operations(page));
put('client/src/schema.ts', identities());

// put writes a file, or compares it.
function put(name, content) {
  const target = join(import.meta.dirname, name);
  const noted = `// Written by npm run generate. Do not edit.\n${content}`;
  if (!process.argv.includes('--check')) {
    writeFileSync(target, noted);
  } else if (readFileSync(target, 'utf8') !== noted) {
    console.error(`web/${name} is not up to date: run make generate`);
    process.exitCode = 1;
  }
}

// operations returns the types of a page's operations.
async function operations(page) {
  const folder = join(import.meta.dirname, page, 'operations');
  const documents = readdirSync(folder)
    .filter((name) => name.endsWith('.graphql'))
    .sort()
    .map((name) => ({ location: name, document: parse(readFileSync(join(folder, name), 'utf8')) }));
  const written = await codegen({
    filename: 'index.ts',
    schema,
    documents,
    pluginMap: { types: typesPlugin, documents: documentPlugin },
    plugins: [
      {
        types: {
          enumType: 'string-literal',
          nonOptionalTypename: true,
          scalars: { ID: 'string', Time: 'string', Int64: 'number' },
          useTypeImports: true,
        },
      },
      {
        documents: {
          documentNodeImport: '@urql/core#TypedDocumentNode',
          useTypeImports: true,
        },
      },
    ],
    config: {},
  });
  return written.replace('/** Internal type. DO NOT USE DIRECTLY. */\n', '');
}

// identities returns the names of the object types with an id, and of those without
// one. Payloads are never cached.
function identities() {
  const objects = schema.definitions.filter(({ kind, name }) => kind === 'ObjectTypeDefinition' && !/^(Query|Mutation|Subscription)$|Payload$/.test(name.value));
  const names = (some) => some.map(({ name }) => `  '${name.value}',\n`).sort().join('');
  const hasId = ({ fields }) => fields.some(({ name }) => name.value === 'id');
  return `
// The object types that are identified by their id.
export const nodes = [
${names(objects.filter(hasId))}] as const;

// The object types that are part of another object.
export const embedded = [
${names(objects.filter((one) => !hasId(one)))}] as const;
`;
}
