// The part of the check of the demo page that covers what people are used to: double taps,
// keys, links, and comments beside a clip.
import assert from 'node:assert/strict';
import { noSidewaysScroll, until } from './browser.mjs';
import { ada, answerWith, ask, base, focusIs, rules, viewerIs, views } from './demo-kit.mjs';
import { comment, drawer, openComments, said, unique } from './demo-talk.mjs';

const clips = (page) => page.locator('.clips > .clip');
const like = (page) => clips(page).first().getByRole('button', { name: /^Like/ });

// openFeed opens the feed as a user.
async function openFeed(page) {
  await page.goto(`${base}/demo#${ada.token ? `token=${ada.token}` : `user=${ada.id}`}`);
  await viewerIs(page, ada.id);
  await like(page).waitFor();
  return (await clips(page).first().getAttribute('data-subject')).split('/')[1];
}

async function liked(bizId) {
  const { interactive } = await ask(ada, 'query ($bizId: ID!) { interactive(biz: "video", bizId: $bizId) { liked { reaction } } }', { bizId });
  return interactive.liked !== null;
}

export async function doubleTapLikes(page, shoot) {
  const id = await openFeed(page);
  const surface = clips(page).first().locator('.clip-surface');
  const hearts = clips(page).first().locator('.clip-heart');
  await page.locator('.clips > .clip video').first().waitFor(); // the clip is in view
  const pauses = await surface.getAttribute('aria-label');
  await surface.dblclick();
  await hearts.first().waitFor();
  await shoot(page, 'double-tap');
  await until('it is liked', () => liked(id));
  await surface.dblclick();
  await hearts.first().waitFor();
  await until('the hearts are gone', async () => (await hearts.count()) === 0);
  assert.ok(await liked(id), 'a second double tap takes the like back');
  assert.equal(await surface.getAttribute('aria-label'), pauses, 'a double tap pauses the clip');
  await surface.click();
  await until('a single tap pauses or plays', async () => (await surface.getAttribute('aria-label')) !== pauses);
  await like(page).click();
  await until('it is as before', async () => !(await liked(id)));
}

export async function keysAct(page, shoot) {
  const id = await openFeed(page);
  await page.locator('.clips > .clip video').first().waitFor(); // the clip is in view
  await page.keyboard.press('l');
  await until('it is liked', () => liked(id));
  await page.keyboard.press('l');
  await until('and no more', async () => !(await liked(id)));
  await page.keyboard.press('m');
  await clips(page).first().getByRole('button', { name: 'Sound', pressed: true }).waitFor();
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  await keys.getByText('next clip').waitFor();
  await rules(page);
  await shoot(page, 'keys');
  await page.keyboard.press('l');
  assert.equal(await liked(id), false, 'keys act behind a dialog');
  await keys.getByLabel('Single letters act').uncheck();
  await page.keyboard.press('Escape');
  await keys.waitFor({ state: 'detached' });
  await page.keyboard.press('m');
  await page.keyboard.press('?');
  await page.keyboard.press('ArrowDown');
  await focusIs('the next clip', clips(page).nth(1));
  assert.equal(await keys.count(), 0, 'letters act that were turned off');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Keys' }).click();
  await keys.getByLabel('Single letters act').check();
}

// commentsAreBeside opens the comments of a clip on a desktop, and goes on to the next clip.
export async function commentsAreBeside(page, shoot) {
  await openFeed(page);
  await page.locator('.clips > .clip video').first().waitFor();
  await page.keyboard.press('c');
  await drawer(page).locator('.comment, .thread-empty').first().waitFor();
  const names = (n) => clips(page).nth(n).locator('.clip-title').innerText();
  const about = () => drawer(page).locator('.picker-what').innerText();
  assert.equal(await about(), await names(0));
  const [clip, beside] = [await clips(page).first().locator('.clip-stage').boundingBox(), await drawer(page).boundingBox()];
  assert.ok(clip.x + clip.width < beside.x, `the clip ends at ${clip.x + clip.width}, and its comments begin at ${beside.x}`);
  await rules(page);
  await shoot(page, 'beside');
  await page.getByRole('button', { name: 'Next clip' }).click();
  await until('they are those of the next clip', async () => (await about()) === (await names(1)) || about());
  await focusIs('the next clip', clips(page).nth(1));
  await page.keyboard.press('Escape');
  await drawer(page).waitFor({ state: 'detached' });

  const button = clips(page).nth(1).getByRole('button', { name: /^Comments/ });
  await button.focus();
  await page.keyboard.press('Enter');
  await drawer(page).waitFor();
  await until('the focus is in the drawer', () => drawer(page).evaluate((element) => element.contains(document.activeElement)));
  await page.keyboard.press('Escape');
  await drawer(page).waitFor({ state: 'detached' });
  await focusIs('the button', button);
}

// linksAreShared needs a page that may use the clipboard.
export async function linksAreShared(page, shoot) {
  await page.addInitScript(() => {
    navigator.share = async (what) => {
      globalThis.shared = what;
    };
  });
  const id = await openFeed(page);
  await clips(page).first().getByRole('button', { name: 'Share' }).click();
  const dialog = page.getByRole('dialog', { name: 'Share' });
  await dialog.getByRole('button', { name: 'Copy link' }).click();
  await dialog.getByRole('button', { name: 'Copied' }).waitFor();
  await rules(page);
  await shoot(page, 'share');
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(link, `${new URL(base).origin}/demo#/clips/${id}`);
  await dialog.getByRole('button', { name: 'Other app' }).click();
  assert.equal((await page.evaluate(() => globalThis.shared)).url, link);
  await page.goto(link);
  await page.locator(`.clips > .clip[data-subject="video/${id}"]`).waitFor();
}

export async function enterSends(page) {
  await openComments(page, ada);
  const [first, second] = ['first line', 'second line'].map(unique);
  let sent = 0;
  await answerWith(page, 'AddComment', (route) => {
    sent++;
    return route.fallback();
  });
  await drawer(page).getByLabel('Add a comment').fill(first);
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.insertText(second);
  assert.equal(sent, 0, 'Shift+Enter sends');
  await page.keyboard.press('Enter');
  await comment(page, second).waitFor();
  assert.equal((await said()).comments.edges[0].node.text, `${first}\n${second}`);
}

// searchFinds searches for people and clips from the feed on, as the viewer of a first visit.
export async function searchFinds(page, shoot) {
  const stamp = `${Date.now()}`;
  const { register } = await ask({ id: '' }, 'mutation ($input: RegisterInput!) { register(input: $input) { user { userId } } }', {
    input: { name: `Zoë Ünique${stamp}`, password: stamp },
  });
  const { feed } = await ask(ada, '{ feed(first: 1) { edges { node { title } } } }');
  const { title } = feed.edges[0].node;
  await page.goto(`${base}/demo`);
  await views(page).waitFor();
  await views(page).getByRole('link', { name: 'Search' }).click();
  const field = page.getByRole('searchbox', { name: 'Search people and clips' });
  await focusIs('the field of the search', field);
  await page.keyboard.type(`unique${stamp} zoe`);
  const person = page.getByRole('link', { name: `Zoë Ünique${stamp}` });
  await person.waitFor();
  await page.getByText('No clip has such a title.').waitFor();
  await focusIs('the field after a search', field);
  await field.fill(`  ${title.toUpperCase().split(/\s+/).slice(0, 2).join(' ')} `);
  await page.keyboard.press('Enter');
  await page.locator('.cover-link', { hasText: title }).first().waitFor();
  await page.getByText('Nobody has such a name.').waitFor();
  await rules(page);
  await noSidewaysScroll(page);
  await shoot(page, 'search');
  await page.reload();
  await page.locator('.cover-link', { hasText: title }).first().waitFor();
  await field.fill('!?');
  await until('nothing is searched for', async () => (await page.locator('.found').count()) === 0);
  await field.fill(`Zoë Ünique${stamp}`);
  await person.click();
  await until('the address is that of the person', () => page.url().includes(register.user.userId));
  await page.goBack();
  await person.waitFor();
}
