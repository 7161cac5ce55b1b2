// Checks the GraphiQL page of a running server in headless Chromium.
//
//   node check/graphiql.mjs BASE_URL OUT_DIR
//
// The server must be `ovation dev` with demo data. It is asked in the name of
// a user made for this run. Screenshots go to OUT_DIR. CHROMIUM names the
// browser, /usr/bin/chromium if unset. Exits with 1 at the first fault.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [base, out] = process.argv.slice(2);
if (!base || !out || !URL.canParse(base)) {
  console.error('usage: node check/graphiql.mjs BASE_URL OUT_DIR, for example http://127.0.0.1:8080 /tmp/shots');
  process.exit(2);
}
const origin = new URL(base).origin;
const user = `check-${Date.now()}`;
mkdirSync(out, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
try {
  const desktop = { viewport: { width: 1440, height: 900 } };
  const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
  await inContext('light', { ...desktop, colorScheme: 'light' }, wholeVisit);
  await inContext('dark', { ...desktop, colorScheme: 'dark' }, shortVisit);
  await inContext('phone', { ...phone, colorScheme: 'light' }, shortVisit);
  // It types a token that is none, which the server refuses.
  await inContext('links', desktop, followLinks, /status of 401/);
  console.log(`ok: screenshots are in ${out}`);
} finally {
  await browser.close();
}

// inContext runs a visit in a fresh browser profile and fails if the page
// logged an error, unless it is one of the expected, or asked anything of
// another origin.
async function inContext(name, options, visit, expected) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const faults = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.stack}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:') faults.push(`request to ${url.href}`);
  });
  page.on('requestfailed', (request) => faults.push(`failed: ${request.url()} ${request.failure().errorText}`));
  try {
    await visit(page, name);
  } catch (error) {
    await page.screenshot({ path: join(out, `${name}-fault.png`) });
    error.message = `${name}: ${error.message}\n${faults.join('\n')}`;
    throw error;
  }
  assert.deepEqual(faults.filter((fault) => !expected?.test(fault)), [], `${name}: the page has faults`);
  await context.close();
  console.log(`ok: ${name}`);
}

async function shortVisit(page, name) {
  await page.goto(`${base}/?user=${user}`);
  await runFeed(page);
  await comeBack(page);
  assert.equal((await tabs(page)).length, 7);
  await runFeed(page);
  await noSidewaysScroll(page);
  await page.screenshot({ path: join(out, `${name}.png`) });
  await openDocs(page);
  await noSidewaysScroll(page);
  await page.screenshot({ path: join(out, `${name}-docs.png`) });
}

async function wholeVisit(page, name) {
  await shortVisit(page, name);
  await page.getByRole('button', { name: 'Hide Documentation Explorer' }).click();

  for (const dialog of ['short keys', 'settings']) {
    await page.getByRole('button', { name: `Open ${dialog} dialog` }).click();
    await page.getByRole('dialog').waitFor();
    await page.screenshot({ path: join(out, `${name}-${dialog.replace(' ', '-')}.png`) });
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }

  const { data: liked } = await runTab(page, 'Like');
  assert.equal(liked.like.changed, true);
  assert.equal(liked.like.interactive.liked.reaction, 'LIKE');
  const { data: collected } = await runTab(page, 'Collect');
  assert.equal(collected.collect.changed, true);
  const { data: viewed } = await runTab(page, 'Viewer');
  assert.equal(viewed.viewer.userId, user);
  await runTab(page, 'MyFolders');
  await runTab(page, 'MyLikes');
  await runTab(page, 'NodeIds');
  await page.screenshot({ path: join(out, `${name}-node-ids.png`) });

  await page.getByRole('button', { name: /^Prettify query/ }).click();
  assert.match(await editorValue(page, '.graphiql-query-editor'), /^# Everything .*\n(#.*\n)+query NodeIds\(/);

  await page.getByLabel('User').fill('');
  const { data: anonymous } = await runTab(page, 'Viewer');
  assert.equal(anonymous.viewer, null);
}

// Links carry an operation and a user; what was edited since outlives them.
async function followLinks(page) {
  await page.goto(`${base}/?${new URLSearchParams({ query: 'query First { __typename }', user: 'josé' })}`);
  assert.deepEqual(await run(page, 'First'), { data: { __typename: 'Query' } });
  await comeBack(page);
  assert.equal((await tabs(page)).length, 8);
  assert.match(await editorValue(page, '.graphiql-query-editor'), /query First/);

  await page.goto(`${base}/?${new URLSearchParams({ query: 'query Second { __typename }', variables: '{"a": 1}' })}`);
  assert.deepEqual(await run(page, 'Second'), { data: { __typename: 'Query' } });
  assert.equal(new URL(page.url()).search, '');
  await page.getByLabel('Token').fill('a.b.c');
  await comeBack(page);
  const all = await tabs(page);
  assert.deepEqual([all.length, all[0], all[8]], [9, 'First', 'Second']);
  assert.match(await editorValue(page, '.graphiql-query-editor'), /query Second/);
  assert.equal(await editorValue(page, '.graphiql-editor-tool'), '{"a": 1}');
  assert.equal(await page.getByLabel('User').inputValue(), 'josé');
  assert.equal(await page.getByLabel('Token').inputValue(), 'a.b.c');
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('a.b.c')), false);
}

// comeBack loads the page again when GraphiQL has stored its tabs.
async function comeBack(page) {
  await page.waitForFunction(() => {
    const stored = JSON.parse(localStorage.getItem('graphiql:tabState'))?.tabs;
    return stored?.length === document.querySelectorAll('.graphiql-tab-button').length;
  });
  await page.reload();
  await page.waitForFunction(() => document.querySelector('.graphiql-query-editor .CodeMirror')?.CodeMirror.getValue());
}

async function runFeed(page) {
  assert.equal(await page.title(), 'Ovation');
  const { data } = await runTab(page, 'Feed');
  assert.equal(data.interactives.length, 10);
  for (const item of data.interactives) {
    assert.equal(item.biz, 'video');
    assert.equal(typeof item.likeCount, 'number');
  }
}

// runTab opens a tab and runs its first operation. It must succeed.
async function runTab(page, title) {
  await tab(page, title).click();
  const result = await run(page, title);
  assert.equal(result.errors, undefined, `${title}: ${JSON.stringify(result.errors)}`);
  return result;
}

function tab(page, title) {
  return page.locator(`.graphiql-tabs button[title="${title}"]`);
}

function tabs(page) {
  return page.locator('.graphiql-tab-button').allInnerTexts();
}

// run executes the open tab's first operation, whose name is given, and
// returns the result when the page shows it.
async function run(page, operation) {
  // GraphiQL parses what it shows a moment later.
  await page.waitForFunction((name) => {
    const editor = document.querySelector('.graphiql-query-editor .CodeMirror')?.CodeMirror;
    return editor?.operations?.[0]?.name?.value === name;
  }, operation);
  const answered = page.waitForResponse((r) => r.url().endsWith('/graphql') && !isIntrospection(r.request()));
  await page.getByRole('button', { name: 'Execute query (Ctrl-Enter)' }).click();
  const choice = page.getByRole('menuitem', { name: operation, exact: true });
  await Promise.race([answered, choice.click().catch(() => {})]);
  const result = await (await answered).json();
  const shown = JSON.stringify(result);
  await page.waitForFunction((want) => {
    const value = document.querySelector('.graphiql-response .CodeMirror')?.CodeMirror.getValue();
    return value && JSON.stringify(JSON.parse(value)) === want;
  }, shown);
  return result;
}

function isIntrospection(request) {
  return request.postData()?.includes('IntrospectionQuery');
}

function editorValue(page, pane) {
  return page.locator(`${pane} .CodeMirror`).first().evaluate((element) => element.CodeMirror.getValue());
}

// openDocs looks the type Interactive up in the docs explorer.
async function openDocs(page) {
  const response = await page.request.post(`${base}/graphql`, {
    data: { query: '{ __type(name: "Interactive") { description } }' },
  });
  const { description } = (await response.json()).data.__type;
  assert.ok(description, 'the type Interactive has no description');

  await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
  const docs = page.locator('.graphiql-doc-explorer');
  await docs.getByRole('combobox').fill('Interactive');
  await docs.getByRole('option', { name: 'Interactive', exact: true }).click();
  await docs.locator('.graphiql-doc-explorer-title', { hasText: /^Interactive$/ }).waitFor();
  await docs.getByText(description).waitFor();
}

async function noSidewaysScroll(page) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(over <= 0, `the page is ${over} pixels wider than the screen`);
}
