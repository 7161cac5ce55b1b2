// The part of the check of the demo page that covers where things stand.
import assert from 'node:assert/strict';
import { noSidewaysScroll, until } from './browser.mjs';
import { ada, ask, base, open, rules, viewerIs, views } from './demo-kit.mjs';

const asUser = (person) => `${base}/demo#${person.token ? `token=${person.token}` : `user=${person.id}`}`;

// labelsAlign checks that the parts of the cards of a row begin at the same height.
export async function labelsAlign(page) {
  await open(page, ada);
  for (const width of [1440, 1280, 1000, 700, 390]) {
    await page.setViewportSize({ width, height: 900 });
    const faults = await page.evaluate(() => {
      const rows = new Map();
      for (const card of document.querySelectorAll('.cards .card')) {
        const [picture, ...labels] = ['.card-picture', '.card-topic', '.card-title', '.card-author', '.card-actions'].map((part) => card.querySelector(part).getBoundingClientRect());
        const row = Math.round(picture.top);
        const tops = labels.map(({ top }) => top);
        const others = rows.get(row) ?? rows.set(row, { tops, bottom: picture.bottom }).get(row);
        if (Math.abs(others.bottom - picture.bottom) > 1 || others.tops.some((top, n) => Math.abs(top - tops[n]) > 1)) return `${card.dataset.subject}: ${tops} beside ${others.tops}`;
        if (picture.height < 100) return `${card.dataset.subject}: a picture of ${picture.height} pixels`;
      }
      return '';
    });
    assert.equal(faults, '', `at ${width} pixels`);
  }
}

// firstCardIsInView checks the first screen of Browse: the first card is whole.
export async function firstCardIsInView(page) {
  await open(page, ada);
  const foot = await page.evaluate(() => {
    const tabs = document.querySelector('.views').getBoundingClientRect();
    return tabs.top > 100 ? tabs.top : innerHeight; // the tabs are at the bottom of phones
  });
  const { top, bottom } = await page.locator('.cards .card').first().evaluate((one) => one.getBoundingClientRect().toJSON());
  assert.ok(top > 0 && bottom <= foot, `the first card ends at ${bottom}, and the screen at ${foot}`);
}

// tabsFit checks the tabs of a phone: each label is whole, and apart from the others.
export async function tabsFit(page) {
  await open(page, ada);
  const tabs = await views(page).getByRole('link').evaluateAll((all) =>
    all.map((one) => {
      const text = document.createRange();
      text.selectNodeContents(one);
      const [box, words] = [one.getBoundingClientRect(), text.getBoundingClientRect()];
      return { name: one.innerText, left: words.left - box.left, right: box.right - words.right, end: innerHeight - box.bottom, high: box.height };
    }),
  );
  assert.deepEqual(tabs.map(({ name }) => name.trim()), ['Feed', 'Browse', 'Search', 'Chats', 'Profile']);
  for (const { name, left, right, end, high } of tabs) assert.ok(left >= 4 && right >= 4 && end >= 0 && high >= 44, `${name}: ${[left, right, end, high]}`);
}

// latestChatIsShown checks that the page of chats shows the latest one beside the list.
export async function latestChatIsShown(page, shoot) {
  const to = `zoe-${Date.now()}`;
  const text = `Only the latest ${to}`;
  await page.goto(asUser(ada));
  await viewerIs(page, ada.id);
  await views(page).getByRole('link', { name: 'Chats' }).click();
  await page.getByText('Choose somebody to write to.').or(page.getByRole('log')).first().waitFor();
  await ask(ada, 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { message { id } } }', { input: { to, text, requestId: crypto.randomUUID() } });
  await page.reload();
  await page.getByRole('log').getByText(text).waitFor();
  await page.locator('.conversation[aria-current=page]', { hasText: to }).waitFor();
  await rules(page);
  await noSidewaysScroll(page);
  await shoot(page, 'chats-filled');
}

// waysLeadBack checks a clip that is missing, and the titles of clips that were read.
export async function waysLeadBack(page) {
  await page.goto(asUser(ada));
  await viewerIs(page, ada.id);
  const clip = page.locator('.clips > .clip').first();
  await clip.waitFor();
  const title = await clip.locator('.clip-title').innerText();
  const id = (await clip.getAttribute('data-subject')).split('/')[1];
  await until('it is read', async () => {
    const { viewer } = await ask(ada, '{ viewer { reads(first: 100) { edges { node { interactive { biz bizId } } } } } }');
    return viewer.reads.edges.some(({ node }) => node.interactive.bizId === id);
  });
  await page.goto(`${base}/demo#/people/${encodeURIComponent(ada.id)}/reads`);
  const row = page.locator('.person-row', { hasText: title }).first();
  await row.locator('img.cover-clip').waitFor();
  await row.getByRole('link', { name: title }).click();
  await page.getByRole('heading', { name: title }).waitFor();

  await page.goto(`${base}/demo#/clips/999999999999`);
  await page.getByText('This clip was deleted or never existed.').waitFor();
  await page.getByRole('link', { name: 'To the feed' }).click();
  await clip.waitFor();
}
