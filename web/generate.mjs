// Writes demo/operations/index.ts, the types of the demo page's operations,
// from ../schema.graphqls and demo/operations/*.graphql.
//
//   node generate.mjs           writes it
//   node generate.mjs --check   exits with 1 where it is not what would be written
//
// It calls graphql-codegen's plugins without its command line, which would
// bring five times as many packages.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codegen } from '@graphql-codegen/core';
import * as documentPlugin from '@graphql-codegen/typed-document-node';
import * as typesPlugin from '@graphql-codegen/typescript-operations';
import { parse } from 'graphql';

const folder = join(import.meta.dirname, 'demo', 'operations');
const target = join(folder, 'index.ts');

const documents = readdirSync(folder)
  .filter((name) => name.endsWith('.graphql'))
  .sort()
  .map((name) => ({ location: name, document: parse(readFileSync(join(folder, name), 'utf8')) }));

const written = await codegen({
  filename: target,
  schema: parse(readFileSync(join(import.meta.dirname, '..', 'schema.graphqls'), 'utf8')),
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
const content = `// Written by npm run generate. Do not edit.\n${written.replace('/** Internal type. DO NOT USE DIRECTLY. */\n', '')}`;

if (!process.argv.includes('--check')) {
  writeFileSync(target, content);
} else if (readFileSync(target, 'utf8') !== content) {
  console.error('web/demo/operations/index.ts is not up to date: run make generate');
  process.exit(1);
}
