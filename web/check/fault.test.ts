/// <reference types="node" />
// The last lines of a failing check say what failed, where, and on which page.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

// run runs a failing script, and returns its exit code and output.
function run(script: string): Promise<{ code: unknown; lines: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'fault-'));
  const file = join(folder, 'failing.mjs');
  const fault = pathToFileURL(join(process.cwd(), 'check/fault.mjs')).href;
  writeFileSync(file, `import { exitWithFaults, note } from '${fault}';\nexitWithFaults();\n${script}`);
  return new Promise((resolve) =>
    execFile(process.execPath, [file], (error, _, stderr) => {
      rmSync(folder, { recursive: true });
      resolve({ code: error?.code, lines: stderr.trimEnd().split('\n') });
    }),
  );
}

test('the last lines name the visit, the place and the pages', async () => {
  const { code, lines } = await run(`
    const error = new Error('\\u001b[31mlocator.waitFor\\u001b[39m: Timeout 30000ms exceeded.\\nCall log:\\n  - waiting');
    error.stack = \`Error: \${error.message}
      at until (file:///src/web/check/browser.mjs:100:3)
      at async linkIs (file:///src/web/check/demo-kit.mjs:45:3)
      at async story (file:///src/web/check/story.mjs:60:9)
      at async file:///src/web/node_modules/other.js:1:1\`;
    note(error, 'story', [
      { url: 'http://127.0.0.1:1/demo#/chats', faults: [1, 2, 3, 4, 5, 6].map((n) => \`console error: \${n}\\nin detail\`) },
      { url: 'about:blank', faults: ['x'.repeat(1000)] },
    ]);
    throw error;`);
  assert.equal(code, 1);
  assert.deepEqual(lines.slice(-10), [
    'fault: story: locator.waitFor: Timeout 30000ms exceeded.',
    '  at demo-kit.mjs:45:3 < story.mjs:60:9',
    '  page http://127.0.0.1:1/demo#/chats',
    ...[2, 3, 4, 5, 6].map((n) => `    console error: ${n}`),
    '  page about:blank',
    `    ${'x'.repeat(296)}`,
  ]);
});

test('an assertion without a message prints the difference', async () => {
  const { code, lines } = await run(`
    import assert from 'node:assert/strict';
    assert.equal(1, 2);`);
  assert.equal(code, 1);
  assert.deepEqual(lines.slice(-2), [
    'fault: outside of a visit: Expected values to be strictly equal: 1 !== 2',
    '  at a place that is not known',
  ]);
});

test('a rejection is reported as well', async () => {
  const { code, lines } = await run(`await Promise.reject(new Error('nothing answers'));`);
  assert.equal(code, 1);
  assert.equal(lines.at(-2), 'fault: outside of a visit: nothing answers');
});
