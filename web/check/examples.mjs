// Checks one of the examples in a browser, on a server with demo data that is restarted
// meanwhile.
//
//   node check/examples.mjs PAGE_URL OUT_DIR
//
// PAGE_URL is that of Vite, which proxies /graphql to the server. The tokens in
// OVATION_CHECK_TOKENS are those of three users without any actions. If
// OVATION_CHECK_BRIEFLY is set, only the initial page is checked.
import assert from 'node:assert/strict';
import { desktop, done, openBrowser, restart, until } from './browser.mjs';

const [base, out] = process.argv.slice(2);
const [ada, ben, cleo] = (process.env.OVATION_CHECK_TOKENS ?? '').split(' ');
if (!cleo || !URL.canParse(base)) {
  console.error('usage: OVATION_CHECK_TOKENS="A B C" node check/examples.mjs BASE_URL OUT_DIR');
  process.exit(2);
}
const soon = 5_000; // milliseconds from the start of the server until counts are live
const name = process.env.OVATION_CHECK_NAME ?? 'example';
const { visit, shoot, close } = await openBrowser(base, out);
const tell = (what) => `${name}: ${what}`;
const refused = /status of 40[13]/; // logged by Chromium for responses to an invalid token
const down = /status of 50\d|WebSocket connection to|ERR_CONNECTION|failed: /; // logged while the server is down

try {
  await visit(tell('counts are live, for anybody'), desktop, anonymous);
  if (!process.env.OVATION_CHECK_BRIEFLY) {
    await visit(tell('a token goes with queries and with the socket'), desktop, tokensAreSent);
    await visit(tell('a like shows before it is answered, and others see it'), [desktop, desktop], likes);
    await visit(tell('a rejected like is rolled back'), desktop, refusal);
    await visit(tell('folders'), desktop, folders);
    await visit(tell('all folders of a user with several pages of them'), desktop, manyFolders);
    await visit(tell('an invalid token is shown, and not retried'), desktop, badToken, refused);
    await visit(tell('a token that is revoked signs the viewer out'), desktop, revoked, refused);
    await visit(tell('a restart is lived through'), [desktop, desktop], restarted, down);
    await visit(tell('a page that is opened while the server is down fills by itself'), desktop, openedWhileDown, down);
  }
} finally {
  await close();
  done();
}

async function open(page, token = '') {
  await page.addInitScript((value) => sessionStorage.setItem('token', value), token);
  await page.goto(base);
  await statusIs(page, 'Live');
  await likeOf(page).waitFor();
}

async function statusIs(page, label) {
  await page.getByRole('status').filter({ hasText: new RegExp(`^${label}`) }).waitFor();
}

function article(page, id = '1') {
  return page.getByRole('article', { name: `Video ${id}`, exact: true });
}

function likeOf(page, id) {
  return article(page, id).getByRole('button', { name: /^♥/ });
}

async function count(page, id) {
  return Number(/\d+/.exec(await likeOf(page, id).textContent())?.[0]);
}

async function pressed(page, id) {
  return (await likeOf(page, id).getAttribute('aria-pressed')) === 'true';
}

async function ask(token, query) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(new URL('/graphql', base), { method: 'POST', headers, body: JSON.stringify({ query }) });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  return data;
}

async function act(token, what, id = '1') {
  await ask(token, `mutation { ${what}(input: {biz: "video", bizId: "${id}"}) { changed } }`);
}

async function truth(id = '1') {
  return (await ask('', `{ interactive(biz: "video", bizId: "${id}") { likeCount } }`)).interactive.likeCount;
}

async function anonymous(page) {
  await open(page);
  const before = await count(page);
  assert.equal(before, await truth());
  await act(cleo, 'like');
  await until('what somebody else likes shows', async () => (await count(page)) === before + 1 || (await count(page)));
  await act(cleo, 'unlike');
  await until('and what they take back', async () => (await count(page)) === before || (await count(page)));
  await shoot(page, `${name}-anonymous`);
}

async function tokensAreSent(page) {
  const [headers, inits] = [new Set(), new Set()];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/graphql' && request.method() === 'POST') headers.add(request.headers()['authorization']);
  });
  page.on('websocket', (socket) =>
    socket.on('framesent', ({ payload }) => {
      const message = String(payload).startsWith('{') ? JSON.parse(String(payload)) : {};
      if (message.type === 'connection_init') inits.add(message.payload.Authorization);
    }),
  );
  await open(page, ada);
  await page.getByRole('heading', { name: /^Folders of / }).waitFor();
  assert.deepEqual([[...headers], [...inits]], [[`Bearer ${ada}`], [`Bearer ${ada}`]]);
}

async function likes(a, b) {
  await Promise.all([open(a, ada), open(b, ben)]);
  const before = await count(a);
  let answer;
  const held = new Promise((resolve) => (answer = resolve));
  await a.route('**/graphql', async (route) => {
    if (route.request().postDataJSON()?.operationName === 'Like') await held;
    return route.fallback();
  });
  await likeOf(a).click();
  await until('it shows', async () => (await pressed(a)) && (await count(a)) === before + 1);
  assert.equal(await truth(), before, 'it was not sent yet');
  answer();
  await until('the other sees it', async () => (await count(b)) === before + 1 || (await count(b)));
  assert.deepEqual([await pressed(a), await count(a), await pressed(b)], [true, before + 1, false]);
  await shoot(a, `${name}-likes`);
  await likeOf(b).click();
  await until('both count', async () => (await count(a)) === before + 2 && (await count(b)) === before + 2);
  await likeOf(a).click();
  await likeOf(b).click();
  await until('all is as before', async () => (await count(a)) === before && (await count(b)) === before && (await truth()) === before);
  assert.equal(await pressed(a), false);
}

async function refusal(page) {
  await open(page, ada);
  const before = await count(page);
  await page.route('**/graphql', (route) =>
    route.request().postDataJSON()?.operationName === 'Like'
      ? route.fulfill({ json: { data: null, errors: [{ message: 'too much at once', path: ['like'], extensions: { code: 'RATE_LIMITED' } }] } })
      : route.fallback(),
  );
  await likeOf(page).click();
  await article(page).getByRole('alert').filter({ hasText: 'too much at once' }).waitFor();
  await until('the like is taken back', async () => !(await pressed(page)) && (await count(page)) === before);
}

async function folders(page) {
  await open(page, ada);
  const field = page.getByLabel('New folder');
  await field.fill('Weekend');
  await field.press('Enter');
  await page.getByRole('listitem').filter({ hasText: 'Weekend: 0' }).waitFor();
  await article(page, '2').getByRole('combobox').selectOption('Weekend');
  await page.getByRole('listitem').filter({ hasText: 'Weekend: 1' }).waitFor();
  await field.fill('Weekend');
  await field.press('Enter');
  await page.getByRole('region', { name: 'Folders' }).getByRole('alert').waitFor();
  await page.reload();
  await page.getByRole('listitem').filter({ hasText: 'Weekend: 1' }).waitFor();
  await until('it lies there', async () => (await article(page, '2').getByRole('combobox').locator('option:checked').textContent()) === 'Weekend');
  await shoot(page, `${name}-folders`);
  await article(page, '2').getByRole('combobox').selectOption('in no folder');
  await page.getByRole('listitem').filter({ hasText: 'Weekend: 0' }).waitFor();
}

// manyFolders checks a user with 206 folders, which are three pages. The oldest folder, on
// the last page, can be chosen, and its number of items is kept up to date.
async function manyFolders(page) {
  const { register } = await ask('', 'mutation { register(input: {name: "Emil", password: "a long password"}) { token } }');
  const names = Array.from({ length: 205 }, (_, n) => `Folder ${n}`);
  for (let n = 0; n < names.length; n += 10) {
    const create = names.slice(n, n + 10).map((folder, i) => `f${i}: createFolder(input: {name: "${folder}"}) { folder { id } }`);
    await ask(register.token, `mutation { ${create.join(' ')} }`);
  }
  await open(page, register.token);
  const list = page.getByRole('region', { name: 'Folders' }).getByRole('listitem');
  const picker = article(page, '3').getByRole('combobox');
  const newestFirst = [...names.toReversed(), 'Default']; // the first folder comes with the default folder
  await until('all folders are listed', async () => (await list.count()) === newestFirst.length || (await list.count()));
  assert.deepEqual(await list.allTextContents(), newestFirst.map((folder) => `${folder}: 0`));
  assert.deepEqual(await picker.locator('option').allTextContents(), ['in no folder', ...newestFirst]);
  await picker.selectOption('Default');
  await page.getByRole('listitem').filter({ hasText: 'Default: 1' }).waitFor();
  await page.reload();
  await until('it lies there', async () => (await picker.locator('option:checked').textContent()) === 'Default');
  const field = page.getByLabel('New folder');
  await field.fill('One more');
  await field.press('Enter');
  await until('the new folder moves the pages', async () => (await list.count()) === newestFirst.length + 1 || (await list.count()));
  assert.deepEqual(await list.allTextContents(), ['One more: 0', ...newestFirst.map((folder) => `${folder}: ${Number(folder === 'Default')}`)]);
}

async function badToken(page) {
  let [sockets, requests] = [0, 0];
  page.on('websocket', (socket) => void (sockets += Number(new URL(socket.url()).pathname === '/graphql')));
  page.on('request', (request) => void (requests += Number(new URL(request.url()).pathname === '/graphql')));
  await page.clock.install();
  await page.goto(base);
  await statusIs(page, 'Live');
  [sockets, requests] = [0, 0];
  await page.getByLabel('Token').fill('bad.token.indeed');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await statusIs(page, 'Your token was rejected: ');
  await reasonIsShownOnce(page);
  await shoot(page, `${name}-bad-token`);
  const before = requests;
  for (let minute = 0; minute < 10; minute++) {
    await page.clock.fastForward(60_000);
    await statusIs(page, 'Your token was rejected: ');
  }
  assert.deepEqual([sockets, requests], [1, before], 'it is tried again');
  await page.getByLabel('Token').fill(ada);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await statusIs(page, 'Live');
  await page.getByRole('heading', { name: /^Folders of / }).waitFor();
}

// reasonIsShownOnce checks a page whose token was rejected: it shows the reason once, and nothing
// that belongs to the user of the token.
async function reasonIsShownOnce(page) {
  const [, reason] = (await page.getByRole('status').textContent()).split(': ');
  assert.ok(reason, 'no reason is given');
  await until('the reason is there once', async () => {
    const places = (await page.locator('body').innerText()).split(reason).length - 1;
    return places === 1 || places;
  });
  await until('nothing of the user is left', async () => (await page.getByRole('region').count()) === 0);
}

async function revoked(page) {
  const answer = await ask('', 'mutation { register(input: {name: "Dora", password: "a long password"}) { token } }');
  const { token } = answer.register;
  await open(page, token);
  await page.getByRole('heading', { name: /^Folders of / }).waitFor();
  await ask(token, 'mutation { logOutEverywhere { user { userId } } }');
  await statusIs(page, 'Your token was rejected: ');
  await reasonIsShownOnce(page);
}

async function openedWhileDown(page) {
  const feed = page.getByRole('region', { name: 'Feed' });
  await restart(async () => {
    await page.addInitScript((value) => sessionStorage.setItem('token', value), ada);
    await page.goto(base);
    await statusIs(page, 'Reconnecting');
    await feed.getByRole('alert').filter({ hasText: 'The server did not answer.' }).waitFor();
    await shoot(page, `${name}-down`);
  });
  await statusIs(page, 'Live');
  await likeOf(page).waitFor();
  await page.getByRole('heading', { name: /^Folders of / }).waitFor();
  await until('the error goes', async () => (await page.getByRole('alert').count()) === 0);
}

async function restarted(a, b) {
  await Promise.all([open(a, ada), open(b)]);
  const before = await count(b);
  await restart(async () => {
    await Promise.all([statusIs(a, 'Reconnecting'), statusIs(b, 'Reconnecting')]);
    await likeOf(a).click();
    await article(a).getByRole('alert').filter({ hasText: 'The server did not answer. Try again in a moment.' }).waitFor();
    await until('the like is taken back', async () => !(await pressed(a)) && (await count(a)) === before);
    await shoot(a, `${name}-reconnecting`);
  });
  const up = Date.now();
  await act(cleo, 'like'); // most likely before they have reconnected
  await until('all have the final value', async () => (await count(a)) === before + 1 && (await count(b)) === before + 1);
  await Promise.all([statusIs(a, 'Live'), statusIs(b, 'Live')]);
  await until('the error goes', async () => (await a.getByRole('alert').count()) === 0);
  const took = Date.now() - up;
  console.log(`${name}: live again after ${took} ms`);
  assert.ok(took <= soon, `live again after ${took} ms only`);
  await likeOf(a).click();
  await until('what is done then shows to others', async () => (await count(b)) === before + 2 || (await count(b)));
  await likeOf(a).click();
  await act(cleo, 'unlike');
  await until('all is as before', async () => (await count(a)) === before && (await count(b)) === before && (await truth()) === before);
}
