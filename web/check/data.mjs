// Checks the data page of a running server in headless Chromium.
//
//   node check/data.mjs BASE_URL OUT_DIR
//
// The server must be `ovation dev` with demo data and development headers. What the page
// shows is compared with the responses of the API. Screenshots go to OUT_DIR. Exits with 1
// at the first fault.
import assert from 'node:assert/strict';
import { done, noSidewaysScroll, openBrowser, phone, until } from './browser.mjs';
import { ada, ask, base, dark, light, out, rules } from './demo-kit.mjs';

// The first video of the demo, by its title, with the id beside it.
const first = 'Five doughs from one bowl video 1';

const { visit, shoot, close } = await openBrowser(base, out);
try {
  await visit('data', light, wholeVisit);
  await visit('data-dark', dark, looks);
  await visit('data-phone', { ...phone, colorScheme: 'light' }, looks);
  await visit('data-tenant', light, anotherTenant);
  console.log(`ok: screenshots are in ${out}`);
} finally {
  await close();
  done();
}

async function wholeVisit(page) {
  await page.goto(`${base}/data/`);
  assert.equal(new URL(page.url()).pathname, '/data');
  await page.getByRole('status').filter({ hasText: 'Everything is stored' }).waitFor();
  const kinds = page.getByRole('table', { name: 'Kinds of content' });
  await kinds.getByRole('row', { name: /^video / }).waitFor();
  const videos = (await cells(kinds.getByRole('row', { name: /^video / }))).map(Number);
  assert.ok(videos[1] >= 20 && videos[2] > 500, `${videos}`);
  await until('the sums are those of the rows', () => sum(kinds));
  await kinds.getByRole('img', { name: /in the last day/ }).first().waitFor();

  const hottest = page.getByRole('table', { name: /^The subjects with the highest count of: Reads/ });
  await hottest.getByRole('link', { name: first }).waitFor();
  await page.getByLabel('By').selectOption({ label: 'Likes' });
  await page.getByLabel('Kind').and(page.locator('select')).selectOption('video');
  const liked = page.getByRole('table', { name: /^The subjects with the highest count of: Likes/ });
  await liked.getByRole('link', { name: first }).waitFor();
  await shoot(page, 'data-overview', { fullPage: true });
  await rules(page);

  await liked.getByRole('link', { name: first }).click();
  await subjectIsTrue(page);
  await shoot(page, 'data-subject', { fullPage: true });
  await rules(page);

  await page.getByRole('table', { name: /^Changes/ }).getByRole('link', { name: 'alice' }).first().click();
  await userIsTrue(page);
  await shoot(page, 'data-user', { fullPage: true });
  await rules(page);

  await thingsAreFound(page);
}

// thingsAreFound searches by titles, ids and names.
async function thingsAreFound(page) {
  const field = page.getByRole('searchbox', { name: 'Find a subject or a user' });
  const found = page.getByRole('list', { name: 'Found' }).getByRole('link');
  await field.fill('FIVE doughs');
  assert.deepEqual(await found.first().innerText(), first);
  await rules(page);
  await shoot(page, 'data-found');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: first }).waitFor();
  await field.fill('bob');
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByRole('heading', { name: 'bob', exact: true }).waitFor();
  await field.fill('article no such');
  await page.keyboard.press('Enter');
  await page.getByText('No actions yet.').waitFor();
  await page.getByText('No changes yet.').waitFor();
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Demo' }).click();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'Data' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Data' }).waitFor();
}

// subjectIsTrue compares a subject, and checks that changes appear.
async function subjectIsTrue(page) {
  await page.getByRole('heading', { name: first }).waitFor();
  const truth = async () => (await ask(ada, '{ interactive(biz: "video", bizId: "1") { likeCount readCount commentCount followerCount } }')).interactive;
  const shown = async (name) => Number((await page.locator('dl.counts div').filter({ hasText: name }).locator('dd').first().innerText()).replaceAll(',', ''));
  for (const [what, says] of [['like', 'likes it'], ['unlike', 'removed the like']]) {
    await ask(ada, `mutation { ${what}(input: {biz: "video", bizId: "1"}) { changed } }`);
    const { likeCount, commentCount } = await truth();
    await until(`the ${what} is counted`, async () => ((await shown('Likes')) === likeCount && (await shown('Comments')) === commentCount) || shown('Likes'));
    await page.getByRole('table', { name: /^Changes/ }).getByRole('row', { name: new RegExp(`${ada.id} ${says}`) }).waitFor();
    const likers = page.getByRole('table', { name: /^Who likes it/ }).getByRole('link', { name: ada.id });
    await until('the likers follow', async () => ((await likers.count()) === 1) === (what === 'like') || likers.count());
  }
  await page.getByText('These counts are up to date. The last change was').waitFor();
  await page.locator('.day').getByRole('img', { name: /in the last day/ }).waitFor();
  const changes = page.getByRole('table', { name: /^Changes/ }).getByRole('row');
  await page.getByLabel('What').selectOption('reads');
  await until('only reads are listed', async () => (await changes.getByText(/likes it|removed the like/).count()) === 0 && (await changes.getByText(/read it/).count()) > 0);
  await page.getByLabel('What').selectOption('everything');
}

// userIsTrue compares alice with what the API returns to her.
async function userIsTrue(page) {
  await page.getByRole('heading', { name: 'alice', exact: true }).waitFor();
  const { viewer } = await ask({ id: 'alice' }, '{ viewer { totals { likes collections } folders { edges { node { name itemCount } } } reads(first: 20) { edges { node { times interactive { biz bizId } } } } } }');
  await page.locator('dl.counts div').filter({ hasText: 'Likes' }).first().getByText(String(viewer.totals.likes), { exact: true }).waitFor();
  const folders = page.getByRole('table', { name: /folders/ });
  for (const { node } of viewer.folders.edges) await folders.getByRole('row', { name: new RegExp(`^${node.name} ${node.itemCount} `) }).waitFor();
  const reads = page.getByRole('table', { name: /has read/ }).getByRole('row');
  assert.equal(await reads.count(), 1 + viewer.reads.edges.length);
  const [{ node: latest }] = viewer.reads.edges;
  assert.match((await cells(reads.nth(1))).join(' '), new RegExp(`${latest.interactive.biz} ${latest.interactive.bizId} ${latest.times} `));
}

async function looks(page) {
  for (const view of ['', '#/subject/video/1', '#/user/alice']) {
    await page.goto(`${base}/data${view}`);
    await page.reload();
    await page.getByRole('table').last().waitFor();
    await noSidewaysScroll(page);
    await rules(page);
  }
  await shoot(page, `data-${(await page.evaluate(() => innerWidth)) < 600 ? 'phone' : 'dark'}`, { fullPage: true });
}

async function anotherTenant(page) {
  await page.goto(`${base}/data`);
  await page.getByLabel('Tenant').fill('nobody-is-here');
  await page.getByText('Nothing is stored yet.').waitFor();
  await page.getByText('No subject has any.').waitFor();
}

async function cells(row) {
  return (await row.getByRole('cell').allInnerTexts()).map((text) => text.replaceAll(',', ''));
}

// sum checks that the last row of a table is the sum of those before it.
async function sum(table) {
  const rows = [];
  for (const row of (await table.getByRole('row').all()).slice(1)) rows.push((await cells(row)).slice(1, -1).map(Number)); // the last column is a picture
  const last = rows.pop();
  return last.every((total, n) => total === rows.reduce((all, row) => all + row[n], 0)) || [last, rows];
}
