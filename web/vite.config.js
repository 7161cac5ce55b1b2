import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

const dist = join(import.meta.dirname, 'dist');

// Each folder listed here is a page; it is built into a folder of the same name in dist.
const pages = ['graphiql', 'demo', 'data'];

// The types of files that are worth compressing.
const compressible = /\.(css|html|js|json|md|svg)$/;

// Empties dist except for the placeholder, which is committed: the Go package embeds
// dist and does not compile if it is empty.
const keepPlaceholder = {
  name: 'keep-placeholder',
  buildStart() {
    for (const name of readdirSync(dist)) {
      if (name !== 'placeholder.html') rmSync(join(dist, name), { recursive: true });
    }
  },
};

// GraphiQL's stylesheet carries 350 kB of fonts as data: URLs. The page uses
// the system's fonts instead.
const systemFonts = {
  name: 'system-fonts',
  enforce: 'pre',
  transform(code, id) {
    if (id.endsWith('/graphiql/dist/style.css')) return code.replaceAll(/@font-face\s*{[^}]*}/g, '');
  },
};

// Replaces what GraphiQL hardly uses, or uses later, and would be half of what its page
// loads: see the folder graphiql/slim.
const slim = (name) => join(import.meta.dirname, 'graphiql', 'slim', name);
const replaced = {
  'framer-motion': slim('reorder.jsx'),
  'markdown-it': slim('markdown.js'),
  'vscode-languageserver-types': slim('languageserver-types.js'),
};
const slimGraphiQL = {
  name: 'slim-graphiql',
  enforce: 'pre',
  resolveId(source, importer) {
    if (source.endsWith('/doc-explorer.js') && /plugin-doc-explorer\/dist\/index\.js$/.test(importer ?? '')) return slim('doc-explorer.jsx');
    return replaced[source];
  },
};

// Writes a .br and a .gz next to each compressible file, so that the server never
// compresses anything itself.
const precompress = {
  name: 'precompress',
  closeBundle() {
    for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !compressible.test(entry.name) || entry.name === 'placeholder.html') continue;
      const file = join(entry.parentPath, entry.name);
      writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file))); // at the highest quality
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    }
  },
};

export default defineConfig({
  root: import.meta.dirname,
  plugins: [keepPlaceholder, systemFonts, slimGraphiQL, precompress],
  build: {
    outDir: dist,
    emptyOutDir: false,
    chunkSizeWarningLimit: 1000,
    // The licences of the bundled packages; the binary serves them at /licenses.
    license: { fileName: 'licenses.md' },
    // No data: URLs, so that the content security policy need not allow them.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: Object.fromEntries(pages.map((page) => [page, join(import.meta.dirname, page, 'index.html')])),
      // One file instead of thirty small ones.
      output: { codeSplitting: { groups: [{ name: 'editor', test: /node_modules\/codemirror(-graphql)?\// }] } },
      // "use client" directives mean nothing in a page without a server part.
      onwarn(warning, warn) {
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
});
