import { join } from 'node:path';
import { defineConfig } from 'vite';

// Makes JavaScript of the tests, since node runs no TypeScript before its
// version 22.
export default defineConfig({
  root: join(import.meta.dirname, '..'),
  build: {
    ssr: 'check/newest.test.ts',
    outDir: 'node_modules/.check',
    target: 'node20',
    minify: false,
  },
});
