// The part of the check of the demo page that covers single items: opened, read, listed.
import assert from 'node:assert/strict';
import { noSidewaysScroll, until } from './browser.mjs';
import { ada, answerWith, ask, base, ben, button, card, cleo, focusIs, linkIs, open, rules, subject, title, truth, viewerIs, views } from './demo-kit.mjs';
import { said } from './demo-talk.mjs';

const sheet = (page) => page.getByRole('dialog', { name: title });

// clickPicture clicks where a card looks like a link but has none.
async function clickPicture(page) {
  await card(page).locator('.card-picture').click({ force: true }); // the button of the title covers it
  await sheet(page).waitFor();
}

export async function cardsOpen(page) {
  await open(page, ada);
  await clickPicture(page);
  await sheet(page).locator('.comment').first().waitFor();
  await page.keyboard.press('Escape');
  await sheet(page).waitFor({ state: 'detached' });
  const opens = button(page, title);
  await focusIs('the title', opens);

  await page.keyboard.press('Enter');
  await sheet(page).locator('.sheet-item').getByRole('button', { name: /^Like/ }).click();
  await until('it is liked', async () => (await truth(ada)).liked?.reaction === 'LIKE');
  await sheet(page).locator('.sheet-item').getByRole('button', { name: /^Like/, pressed: true }).click();
  await until('and no more', async () => (await truth(ada)).liked === null);

  // A dialog that is opened within it closes alone.
  await sheet(page).getByRole('button', { name: /^Collect/ }).click();
  const picker = page.getByRole('dialog', { name: 'Collect in a folder' });
  await picker.waitFor();
  await page.keyboard.press('Escape');
  await picker.waitFor({ state: 'detached' });
  await focusIs('the button', sheet(page).getByRole('button', { name: /^Collect/ }));

  const text = `in the sheet ${Date.now()}`;
  await sheet(page).getByLabel('Add a comment').fill(text);
  await page.keyboard.press('Control+Enter');
  const comment = sheet(page).locator('.comment', { hasText: text });
  await comment.getByRole('button', { name: 'Delete', exact: true }).click();
  await comment.getByRole('button', { name: 'Delete it' }).click();
  await comment.waitFor({ state: 'detached' });
  await until('the comment is deleted', async () => !(await said()).comments.edges.some(({ node }) => node.text === text));

  await page.keyboard.press('Escape');
  await sheet(page).waitFor({ state: 'detached' });
  await focusIs('the title', opens);
}

// readsAreListed runs after items were read.
export async function readsAreListed(page, shoot) {
  let counted = 0;
  await answerWith(page, 'Read', (route) => {
    const { input } = route.request().postDataJSON().variables;
    counted += Number(input.biz === subject.biz); // not the clips of the feed, which is on the way to the list
    return route.fulfill({ json: { data: { read: { durability: 'QUEUED', __typename: 'ReadPayload' } } } });
  });
  const { viewer } = await ask(cleo, '{ viewer { reads(first: 100) { edges { node { times interactive { biz bizId } } } } } }');
  await page.goto(`${base}/demo#${cleo.token ? `token=${cleo.token}` : `user=${cleo.id}`}`);
  await viewerIs(page, cleo.id);
  await views(page).getByRole('link', { name: 'Profile' }).click();
  await page.getByRole('link', { name: 'Reads' }).click();
  const row = page.locator('.person-row', { hasText: title });
  await row.getByText(/^once, /).waitFor();
  await until('all are listed', async () => {
    await page.keyboard.press('End'); // further pages are loaded when they come into view
    const rows = await page.locator('.person-row').count();
    return rows === viewer.reads.edges.length || rows;
  });
  await shoot(page, 'reads');
  await row.getByRole('button', { name: title }).click();
  await sheet(page).locator('.sheet-item').getByRole('button', { name: /^Like, \d/ }).waitFor();
  await page.keyboard.press('Escape');
  await sheet(page).waitFor({ state: 'detached' });
  await focusIs('the title', row.getByRole('button', { name: title }));
  assert.equal(counted, 0, 'to look at the list is to read');

  await page.goto(`${base}/demo#/people/${encodeURIComponent(ben.id)}/reads`);
  await page.getByText(`Nobody but ${ben.id} can see what ${ben.id} has read.`).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Reads' }).count(), 0);
}

// onlyLiveIsSaid checks that a view that never changes by itself says nothing about that,
// and that the state of a live one is explained on request.
export async function onlyLiveIsSaid(page, shoot) {
  await open(page, ada);
  await page.getByRole('button', { name: 'Live. Why?' }).click();
  const why = page.locator('.link-why', { hasText: 'Counts change as others act' });
  await why.waitFor();
  await shoot(page, 'live');
  await page.keyboard.press('Escape');
  await why.waitFor({ state: 'hidden' });
  await views(page).getByRole('link', { name: 'Folders' }).click();
  await page.locator('.link-state').waitFor({ state: 'detached' });
  assert.equal(await page.getByText('Not live').count(), 0);
}

// itemLooks takes screenshots of a single item and of the list of reads, and checks them
// against axe's rules.
export async function itemLooks(page, name, shoot) {
  await open(page, ada);
  await clickPicture(page);
  await sheet(page).locator('.comment').first().waitFor();
  await rules(page);
  await noSidewaysScroll(page);
  await shoot(page, `${name}-item`);
  await page.keyboard.press('Escape');
  await sheet(page).waitFor({ state: 'detached' });
  await page.goto(`${base}/demo#/people/${encodeURIComponent(ada.id)}/reads`);
  await page.locator('.person-row').first().waitFor();
  await rules(page);
  await noSidewaysScroll(page);
  await shoot(page, `${name}-reads`);
}
