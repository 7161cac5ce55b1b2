import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vite';

const root = join(import.meta.dirname, '..');
const tests = ['check', 'client/test'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => [name.replace(/\.ts$/, ''), join(root, folder, name)]),
);

// Makes JavaScript of the tests, since node runs no TypeScript before its
// version 22.
export default defineConfig({
  root,
  build: {
    ssr: true,
    rolldownOptions: { input: Object.fromEntries(tests) },
    outDir: 'node_modules/.check',
    target: 'node20',
    minify: false,
  },
});
