// What the demo page does while requests fail, and where it says so.
import assert from 'node:assert/strict';
import { until } from './browser.mjs';
import { ada, answerWith, ask, atRest, ben, button, linkIs, open, refused, subject } from './demo-kit.mjs';

const seconds = 20;
const most = 6; // requests of one list within these seconds

const json = (status, headers, errors) => ({ status, headers, contentType: 'application/graphql-response+json', body: JSON.stringify({ errors }) });

// Ways in which requests fail.
const ways = {
  429: (route) => route.fulfill(json(429, { 'retry-after': '3' }, [{ message: 'rate limit exceeded', extensions: { code: 'RATE_LIMITED', retryAfter: 3 } }])),
  502: (route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' }),
  503: (route) => route.fulfill({ status: 503, headers: { 'retry-after': '1' }, contentType: 'text/plain', body: 'busy' }),
  UNAVAILABLE: (route) => route.fulfill(refused('UNAVAILABLE')),
  aborted: (route) => route.abort('connectionreset'),
  offline: (route) => route.fallback(),
};

export const failures = Object.keys(ways).flatMap((way) => ['up', 'down'].map((socket) => [way, socket]));

// noStorm has all requests fail in one way, with the socket up or down, and counts those of
// the comments, the likes and a list of people, by the clock of the page.
export async function noStorm(page, way, socket) {
  await page.clock.install();
  let down = false;
  const sockets = new Set();
  await page.routeWebSocket('**/graphql', (opened) => {
    if (down) return opened.close({ code: 1013, reason: 'down' });
    opened.connectToServer();
    sockets.add(opened);
  });
  await open(page, ada);
  if (socket === 'down') {
    down = true;
    for (const one of sockets) await one.close({ code: 1012, reason: 'down' });
    await linkIs(page, 'Reconnecting');
  }
  const sent = countRequests(page);
  const fail = async () => (way === 'offline' ? page.context().setOffline(true) : page.route('**/graphql', ways[way]));
  const heal = async () => (way === 'offline' ? page.context().setOffline(false) : page.unroute('**/graphql', ways[way]));
  const go = (to) => page.evaluate((hash) => (location.hash = hash), to);
  const profile = `#/people/${encodeURIComponent(ben.id)}`;
  const lists = [
    { name: 'Comments', view: '#/browse', ready: button(page, 'Comments'), show: () => button(page, 'Comments').click(), place: page.getByRole('dialog').locator('.thread') },
    { name: 'MyLikes', view: '#/browse', ready: button(page, 'Comments'), show: () => go('#/likes'), place: page.locator('.gallery') },
    { name: 'Followers', view: `${profile}/friends`, ready: page.getByText('Nobody yet.'), show: () => go(`${profile}/followers`), place: page.locator('.row-pages') },
  ];
  const counts = [];
  for (const { name, view, ready, show, place } of lists) {
    await go(view);
    await ready.waitFor();
    await fail();
    sent.clear();
    await show();
    const alert = place.getByRole('alert');
    await alert.waitFor();
    for (let second = 0; second < seconds; second++) {
      await page.clock.runFor(1_000);
      await page.evaluate(() => {}); // what is due is sent
      await until('the responses are here', () => sent.waiting() === 0);
      await page.evaluate(() => {}); // and the page has them
    }
    counts.push(`${name} ${sent.of(name)}`);
    assert.ok(sent.most() <= most, `${name}: ${sent.most()} requests within ${seconds} s`);
    assert.ok(sent.of(name) >= (way === 'offline' ? 1 : 2), `${name}: ${sent.of(name)} requests: it is not retried`);
    await alert.getByRole('button', { name: 'Try again' }).waitFor();
    await heal();
    await alert.getByRole('button', { name: 'Try again' }).click({ timeout: 5_000 }).catch(() => {}); // or it was repeated at once
    await alert.waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
  }
  console.log(`requests within ${seconds} s: ${counts.join(', ')}`);
}

// countRequests counts the requests of a page, by what they ask for.
function countRequests(page) {
  const counts = new Map();
  const waiting = new Set();
  page.on('request', (request) => {
    const body = request.postData();
    if (!body || !request.url().endsWith('/graphql')) return;
    waiting.add(request);
    counts.set(body, (counts.get(body) ?? 0) + 1);
  });
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => waiting.delete(request));
  return {
    clear: () => counts.clear(),
    waiting: () => waiting.size,
    most: () => Math.max(0, ...counts.values()),
    of: (name) => [...counts].reduce((sum, [body, count]) => sum + (JSON.parse(body).operationName === name ? count : 0), 0),
  };
}

// noticesCoverNothing has a notice shown above each kind of view and in a dialog.
export async function noticesCoverNothing(page, shoot) {
  await page.clock.install();
  await open(page, ada);
  await answerWith(page, 'Like', (route) => route.fulfill(refused('RATE_LIMITED')));
  const notices = page.getByRole('region', { name: 'Notices' });
  const notice = notices.getByText('Could not like');
  const refuse = async () => {
    const like = page.locator('main').getByRole('button', { name: /^Like, / }).first();
    await like.scrollIntoViewIfNeeded();
    await inView(page);
    await like.click();
    await notice.waitFor();
  };
  await refuse();
  await covers(page, 'the list');
  await page.evaluate((id) => (location.hash = `#/chats/${id}`), encodeURIComponent(ben.id));
  await page.getByLabel(/^Message to/).waitFor();
  await covers(page, 'the chat');
  await shoot(page, 'notice-chat');
  await page.clock.runFor(10_000);
  await notice.waitFor({ state: 'detached' });

  await page.evaluate(() => (location.hash = '#/'));
  await page.getByRole('article').first().waitFor();
  await refuse();
  await covers(page, 'the clip');
  await shoot(page, 'notice-clip');
  await page.clock.runFor(10_000);
  await notice.waitFor({ state: 'detached' });

  // A dialog that opens neither hides a notice nor prolongs its time, 9 s. The clock stands
  // still meanwhile, however slow this machine is.
  await refuse();
  const later = await page.evaluate(() => {
    delete globalThis.seen; // the dialog is checked in place of the view
    return Date.now() + 5_000;
  });
  await page.clock.pauseAt(later);
  await page.getByRole('button', { name: /^Comments/ }).first().click();
  // On a desktop the drawer stands beside the clip, below the notices of the page.
  const beside = (await page.locator('dialog[data-beside]').count()) === 1;
  await (beside ? page : page.getByRole('dialog')).getByRole('region', { name: 'Notices' }).getByText('Could not like').waitFor();
  await page.clock.resume();
  await covers(page, 'the drawer');
  await shoot(page, 'notice-drawer');
  await page.clock.runFor(5_000);
  await notice.waitFor({ state: 'detached' });
}

const parts = 'button, textarea, input, .clip-words, .dialog-head h2';

// inView remembers what is in view before a notice comes.
async function inView(page) {
  await page.evaluate((parts) => {
    globalThis.seen = [...document.querySelectorAll(parts)].filter((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return one.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
    });
  }, parts);
}

// covers checks that the notices cover nothing of a view, which is not scrolled, or nothing of
// what was in view before.
async function covers(page, what) {
  await atRest(page);
  const covered = await page.evaluate((parts) => {
    const top = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body;
    const others = (globalThis.seen ?? [...top.querySelectorAll(parts)]).filter((one) => one.isConnected && !one.closest('.notices') && one.checkVisibility());
    delete globalThis.seen;
    if (!document.querySelector('.notice')) return 'there is no notice';
    return others
      .filter((one) => {
        const { left, right, top: above, bottom } = one.getBoundingClientRect();
        return document.elementFromPoint((left + right) / 2, (above + bottom) / 2)?.closest('.notice');
      })
      .map((one) => one.outerHTML.slice(0, 160));
  }, parts);
  assert.deepEqual(covered, [], `notices cover a part of ${what}`);
}

// actionsSurviveAReload has a like and a follow wait while the server cannot be reached.
export async function actionsSurviveAReload(page) {
  await open(page, ada);
  const lost = (route) => (/^(Like|Follow|AddComment|SendMessage)$/.test(route.request().postDataJSON()?.operationName) ? route.abort('connectionreset') : route.fallback());
  await page.route('**/graphql', lost);
  await button(page, 'Like').click();
  const waits = page.locator('[data-waiting]');
  await waits.first().waitFor();
  assert.match(await waits.first().getAttribute('aria-label'), /Will send when the server responds again/);
  const text = `kept ${Date.now()}`;
  await button(page, 'Comments').click();
  await page.getByRole('dialog').getByLabel('Add a comment').fill(text);
  await page.keyboard.press('Control+Enter');
  await page.getByRole('list', { name: 'Comments to be sent' }).getByText(text).waitFor();
  await page.reload();
  await waits.first().waitFor();
  await page.unroute('**/graphql', lost);
  await page.context().setOffline(true);
  await page.context().setOffline(false); // it need not wait for the next attempt
  const query = `query ($biz: String!, $bizId: ID!) { interactive(biz: $biz, bizId: $bizId) { liked { reaction } comments(first: 3, order: NEWEST) { edges { node { text } } } } }`;
  await until('all of it was sent', async () => {
    const { interactive } = await ask(ada, query, subject);
    return (interactive.liked !== null && interactive.comments.edges.filter(({ node }) => node.text === text).length === 1) || interactive;
  });
  await waits.first().waitFor({ state: 'detached' });
  await button(page, 'Like').click();
  await until('it is as before', async () => (await ask(ada, query, subject)).interactive.liked === null);
}
