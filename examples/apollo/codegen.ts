import type { CodegenConfig } from '@graphql-codegen/cli';
import { existsSync } from 'node:fs';

// In this repository the schema is a file; elsewhere use the URL of a running server.
const server = process.env['OVATION_URL'] ?? 'http://127.0.0.1:8080';
const file = '../../schema.graphqls';

// Types of the operations in src/*.graphql.
const config: CodegenConfig = {
  schema: existsSync(file) ? file : `${server}/schema.graphqls`,
  documents: 'src/*.graphql',
  generates: {
    'src/operations.ts': {
      plugins: ['typescript-operations', 'typed-document-node'],
      config: {
        // Otherwise all counts and times would be `unknown`.
        scalars: { ID: 'string', Int64: 'number', Time: 'string' },
        enumType: 'string-literal',
        nonOptionalTypename: true,
        skipTypeNameForRoot: true,
        useTypeImports: true,
      },
    },
  },
};

export default config;
