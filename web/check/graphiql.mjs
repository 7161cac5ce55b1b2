// Checks the GraphiQL page of a running server in headless Chromium.
//
//   node check/graphiql.mjs BASE_URL OUT_DIR
//
// The server must be `ovation dev` with demo data. Requests use the name of a user made for
// this run, and the token of alice in OVATION_CHECK_TOKENS. Screenshots go to OUT_DIR.
// CHROMIUM names the browser, /usr/bin/chromium if unset. Exits with 1 at the first fault.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { desktop, done, noSidewaysScroll, openBrowser, phone, until } from './browser.mjs';

const [base, out] = process.argv.slice(2);
if (!base || !out || !URL.canParse(base)) {
  console.error('usage: node check/graphiql.mjs BASE_URL OUT_DIR, for example http://127.0.0.1:8080 /tmp/shots');
  process.exit(2);
}
const user = `check-${Date.now()}`;

// The rules of axe that GraphiQL 4.1.2 itself violates, and where: each of its tabs contains
// two buttons.
const ofGraphiQL = [/^nested-interactive: <li [^>]*role="tab"/];

const maxTransfer = 300_000; // bytes that the first visit may load, as they are transferred

const { visit, shoot, close } = await openBrowser(base, out);
try {
  await visit('light', { ...desktop, colorScheme: 'light' }, (page) => wholeVisit(page, 'light'));
  await visit('dark', { ...desktop, colorScheme: 'dark' }, (page) => shortVisit(page, 'dark'));
  await visit('phone', { ...phone, colorScheme: 'light' }, (page) => shortVisit(page, 'phone'));
  // This types an invalid token, which the server rejects.
  await visit('links', desktop, followLinks, /status of 401/);
  await visit('greeting', desktop, opensAsAlice);
  await visit('tokens', desktop, tokensAreVerified, /status of 401|WebSocket/);
  await visit('again', desktop, tabsRunAgain);
  await visit('copies', { ...desktop, permissions: ['clipboard-read', 'clipboard-write'] }, operationsAreCopied);
  await visit('rules', desktop, passesAxe);
  await visit('size', desktop, loadsLittle);
  console.log(`ok: screenshots are in ${out}`);
} finally {
  await close();
  done();
}

async function shortVisit(page, name) {
  await page.goto(`${base}/?user=${user}`);
  await shows(page, (result) => result.data?.interactives.length === 10);
  await runFeed(page);
  await reloadPage(page);
  assert.equal((await tabs(page)).length, 10);
  await runFeed(page);
  await noSidewaysScroll(page);
  await shoot(page, `${name}`);
  await openDocs(page);
  await noSidewaysScroll(page);
  await shoot(page, `${name}-docs`);
}

async function wholeVisit(page, name) {
  await shortVisit(page, name);
  await page.getByRole('button', { name: 'Hide Documentation Explorer' }).click();

  for (const dialog of ['short keys', 'settings']) {
    await page.getByRole('button', { name: `Open ${dialog} dialog` }).click();
    await page.getByRole('dialog').waitFor();
    await shoot(page, `${name}-${dialog.replace(' ', '-')}`);
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
  await shoot(page, `${name}-node-ids`);

  await subscribe(page);
  await shoot(page, `${name}-live`);
  await page.getByRole('button', { name: 'Stop query (Ctrl-Enter)' }).click();
  await tab(page, 'NodeIds').click();

  await page.getByRole('button', { name: /^Prettify query/ }).click();
  assert.match(await editorValue(page, '.graphiql-query-editor'), /^# Everything .*\n(#.*\n)+query NodeIds\(/);

  await page.getByLabel('User').fill('');
  const { data: anonymous } = await runTab(page, 'Viewer');
  assert.equal(anonymous.viewer, null);
}

// subscribe runs the tab Live, and checks that it shows another user's action.
async function subscribe(page) {
  await tab(page, 'Live').click();
  await operationIs(page, 'Live');
  await page.getByRole('button', { name: 'Execute query (Ctrl-Enter)' }).click();
  const shown = async () => {
    const value = await editorValue(page, '.graphiql-response');
    return value ? JSON.parse(value).data?.interactiveChanged : undefined;
  };
  await until('the subscription begins', async () => (await shown())?.biz === 'video');
  const like = async (what) => {
    const response = await page.request.post(`${base}/graphql`, {
      headers: { 'x-ovation-user': `${user}-other` },
      data: { query: `mutation { ${what}(input: {biz: "video", bizId: "3"}) { interactive { likeCount } } }` },
    });
    return (await response.json()).data[what].interactive.likeCount;
  };
  for (const what of ['like', 'unlike']) {
    const likes = await like(what);
    await until(`the ${what} is seen`, async () => {
      const now = await shown();
      return (now?.bizId === '3' && now.likeCount === likes) || now;
    });
  }
}

// The first visit opens as alice, with the feed of her demo data.
async function opensAsAlice(page) {
  await page.goto(base);
  await says(page, /^You are alice/);
  await shows(page, (result) => result.data?.interactives.length === 10 && result.data.interactives.some(({ liked }) => liked));
  await shoot(page, 'first-visit');
  const chip = (name) => page.getByRole('group', { name: 'Ask as' }).getByRole('button', { name });
  assert.equal(await chip('alice').getAttribute('aria-pressed'), 'true');
  await chip('bob').click();
  await says(page, /^You are bob/);
  assert.equal((await runTab(page, 'Viewer')).data.viewer.userId, 'bob');
  await chip('anonymous').click();
  await says(page, /^You are anonymous/);
  assert.equal((await runTab(page, 'Viewer')).data.viewer, null);
  await reloadPage(page);
  await says(page, /^You are anonymous/);
  assert.equal(await chip('anonymous').getAttribute('aria-pressed'), 'true');

  await chip('bob').click();
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Demo' }).click();
  await page.getByRole('link', { name: 'bob, your profile' }).waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'GraphiQL' }).click();
  await says(page, /^You are bob/);
  assert.match(await (await page.request.get(`${base}/schema.graphqls`)).text(), /^type Interactive implements Node/m);
  assert.equal(await page.getByRole('link', { name: 'Schema' }).getAttribute('href'), '/schema.graphqls');
}

// A valid token shows its user; an invalid one shows the reason, also over a WebSocket.
async function tokensAreVerified(page) {
  await page.goto(base);
  await says(page, /^You are alice/);
  await page.getByLabel('Token').fill(`Bearer ${process.env.OVATION_CHECK_TOKENS}`);
  await says(page, /^The token is valid: you are alice/);
  await page.getByLabel('Token').fill('a.b.c');
  await says(page, /^Rejected: .*token/);
  await tab(page, 'Live').click();
  await operationIs(page, 'Live');
  await execute(page);
  await shows(page, ({ errors }) => /WebSocket with 4403: Forbidden: .*token/.test(errors?.[0].message));
  await shoot(page, 'bad-token');
  await page.getByLabel('Token').fill('');
  await says(page, /^You are alice/);
  await execute(page);
  await shows(page, ({ data }) => data?.interactiveChanged.biz === 'video');
}

// Every operation of every tab can be executed twice.
async function tabsRunAgain(page) {
  await page.goto(base);
  await shows(page, (result) => result.data?.interactives.length === 10);
  for (const title of (await tabs(page)).filter((one) => one !== 'Live')) {
    await tab(page, title).click();
    await operationIs(page, title);
    const all = await page.locator('.graphiql-query-editor .CodeMirror').first().evaluate(({ CodeMirror }) =>
      CodeMirror.operations.filter(({ operation }) => operation !== 'subscription').map(({ name }) => name.value),
    );
    for (const operation of [...all, ...all]) {
      const { errors } = await run(page, title, operation);
      assert.equal(errors, undefined, `${title}, ${operation}: ${JSON.stringify(errors)}`);
    }
  }
}

// Copied operations work elsewhere.
async function operationsAreCopied(page) {
  await page.goto(base);
  await shows(page, (result) => result.data?.interactives.length === 10);
  const copied = async (form) => {
    await page.getByRole('button', { name: 'Copy as' }).click();
    await Promise.all([says(page, `Copied for ${form}`), page.getByRole('menuitem', { name: form }).click()]);
    return page.evaluate(() => navigator.clipboard.readText());
  };
  const { data } = JSON.parse(execFileSync('bash', ['-c', await copied('curl')], { encoding: 'utf8' }));
  assert.equal(data.interactives.length, 10);
  assert.ok(data.interactives.some(({ liked }) => liked), 'curl does not ask as alice');
  const fetched = execFileSync('node', ['--input-type=module', '-e', await copied('fetch')], { encoding: 'utf8' });
  assert.match(fetched, /interactives/);
  const apollo = await copied('Apollo Client');
  assert.match(apollo, /const FEED = gql`\n {2}query Feed\(\$subjects/);
  assert.match(apollo, /useQuery\(FEED, \{ variables: \{\n {2}subjects: \[/);

  await tab(page, 'Like').click();
  await operationIs(page, 'Like');
  const urql = await copied('urql');
  assert.match(urql, /const LIKE = gql`[^`]*`;[^]*useMutation\(LIKE\);[^]*like\(\{\n {2}biz: "video"/);
  assert.doesNotMatch(urql, /unlike/);
  await tab(page, 'Live').click();
  await operationIs(page, 'Live');
  assert.match(await copied('curl'), /^curl -N [^]*accept: text\/event-stream/);
}

// loadsLittle adds up what the first visit transfers, from the page to the first result.
async function loadsLittle(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('Network.enable');
  const bytes = new Map();
  client.on('Network.responseReceived', ({ requestId, response }) => bytes.set(requestId, { url: response.url, bytes: 0 }));
  client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (bytes.has(requestId)) bytes.get(requestId).bytes = encodedDataLength;
  });
  const begun = performance.now();
  await page.goto(base);
  await shows(page, (result) => result.data?.interactives.length === 10);
  const took = Math.round(performance.now() - begun);
  const files = [...bytes.values()].sort((a, b) => b.bytes - a.bytes);
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  console.log(`GraphiQL transfers ${total} bytes in ${files.length} responses, and shows the first result after ${took} ms`);
  assert.ok(total <= maxTransfer, `${total} bytes:\n${files.map(({ url, bytes: size }) => `${size} ${url}`).join('\n')}`);
}

// passesAxe checks the page with axe, except for the insides of the editors, whose
// colours and structure are CodeMirror's. Their names are set by this page.
async function passesAxe(page) {
  await page.goto(base);
  await shows(page, (result) => result.data?.interactives.length === 10);
  for (const label of ['Operations', 'Variables', 'Response']) {
    assert.equal(await page.getByRole('textbox', { name: label, exact: true }).count(), 1, label);
  }
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  const { violations } = await page.evaluate(() => globalThis.axe.run({ exclude: ['.CodeMirror'] }, { selectors: false, xpath: true }));
  const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  assert.deepEqual(found.filter((one) => !ofGraphiQL.some((known) => known.test(one))), []);
}

// A link contains an operation and a user; later edits outlive it.
async function followLinks(page) {
  await page.goto(`${base}/?${new URLSearchParams({ query: 'query First { __typename }', user: 'josé' })}`);
  assert.deepEqual(await run(page, 'First'), { data: { __typename: 'Query' } });
  await reloadPage(page);
  assert.equal((await tabs(page)).length, 11);
  assert.match(await editorValue(page, '.graphiql-query-editor'), /query First/);

  await page.goto(`${base}/?${new URLSearchParams({ query: 'query Second { __typename }', variables: '{"a": 1}' })}`);
  assert.deepEqual(await run(page, 'Second'), { data: { __typename: 'Query' } });
  assert.equal(new URL(page.url()).search, '');
  await page.getByLabel('Token').fill('a.b.c');
  await reloadPage(page);
  const all = await tabs(page);
  assert.deepEqual([all.length, all[0], all[11]], [12, 'First', 'Second']);
  assert.match(await editorValue(page, '.graphiql-query-editor'), /query Second/);
  assert.equal(await editorValue(page, '.graphiql-editor-tool'), '{"a": 1}');
  assert.equal(await page.getByLabel('User').inputValue(), 'josé');
  assert.equal(await page.getByLabel('Token').inputValue(), 'a.b.c');
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('a.b.c')), false);
}

// reloadPage reloads the page once GraphiQL has stored its tabs.
async function reloadPage(page) {
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

// says waits until the page shows a text about the viewer.
async function says(page, text) {
  await page.locator('.viewer-bar output', { hasText: text }).waitFor();
}

// shows waits until the response pane shows a matching result.
async function shows(page, fits) {
  await until('the result is shown', async () => {
    const value = (await page.locator('.graphiql-response .CodeMirror').count()) > 0 && (await editorValue(page, '.graphiql-response'));
    try {
      return fits(JSON.parse(value)) || value;
    } catch {
      return value; // incomplete, or none yet
    }
  });
}

async function execute(page) {
  await page.getByRole('button', { name: 'Execute query (Ctrl-Enter)' }).click();
}

// run executes an operation of the open tab, in which it puts the cursor, and returns the
// result once the page shows it. Without a name, it executes the first one, which has the
// name of the tab.
async function run(page, first, operation = first) {
  await operationIs(page, first);
  await page.locator('.graphiql-query-editor .CodeMirror').first().evaluate(({ CodeMirror }, name) => {
    const { loc } = CodeMirror.operations.find((one) => one.name?.value === name);
    CodeMirror.setCursor(CodeMirror.posFromIndex(loc.start + 1));
  }, operation);
  const answered = page.waitForResponse((r) => r.url().endsWith('/graphql') && isOperation(r.request(), operation));
  await page.getByRole('button', { name: 'Execute query (Ctrl-Enter)' }).click();
  const result = await (await answered).json();
  const shown = JSON.stringify(result);
  await page.waitForFunction((want) => {
    const value = document.querySelector('.graphiql-response .CodeMirror')?.CodeMirror.getValue();
    return value && JSON.stringify(JSON.parse(value)) === want;
  }, shown);
  return result;
}

// operationIs waits until the first operation of the open tab has this name: GraphiQL parses
// the text shortly after it is shown.
async function operationIs(page, name) {
  await page.waitForFunction((want) => {
    const editor = document.querySelector('.graphiql-query-editor .CodeMirror')?.CodeMirror;
    return editor?.operations?.[0]?.name?.value === want;
  }, name);
}

function isOperation(request, name) {
  return request.method() === 'POST' && request.postDataJSON()?.operationName === name;
}

function editorValue(page, pane) {
  return page.locator(`${pane} .CodeMirror`).first().evaluate((element) => element.CodeMirror.getValue());
}

// openDocs opens the type Interactive in the docs explorer.
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
