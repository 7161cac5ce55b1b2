import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vite';

const root = join(import.meta.dirname, '..');
const tests = ['check', 'client/test'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => [name.replace(/\.ts$/, ''), join(root, folder, name)]),
);

// Compiles the tests to JavaScript, because node before version 22 does not run TypeScript.
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
