// The part of the check of the demo page that covers folders.
import assert from 'node:assert/strict';
import { until } from './browser.mjs';
import { ada, ask, ben, button, card, count, focusIs, open, rules, subject, title, truth } from './demo-kit.mjs';

const second = 'Five doughs from one bowl'; // an item of the feed

// foldersByKeyboard checks that the focus returns to where it was.
export async function foldersByKeyboard(page, shoot) {
  await open(page, ada);
  const collect = button(page, 'Collect');
  const before = await count(page, 'Collect');
  await collect.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Collect in a folder' });
  await dialog.getByRole('button', { name: /^Default/ }).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await focusIs('the button after Escape', collect);

  await page.keyboard.press('Enter');
  await dialog.getByLabel('New folder').fill('Weekend');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await card(page).getByText('in Weekend').waitFor();
  assert.equal(await count(page, 'Collect'), before + 1);
  await until('it lies there', async () => (await truth(ada)).collected?.folder.name === 'Weekend');
  await focusIs('the button after a folder was made', collect);

  await page.keyboard.press('Enter');
  const move = page.getByRole('dialog', { name: 'Move to another folder' });
  await move.getByLabel('New folder').fill('weekend');
  await move.getByRole('button', { name: 'Create' }).focus();
  await page.keyboard.press('Enter');
  await move.getByRole('alert').waitFor();
  await focusIs('the name that is taken', move.getByLabel('New folder'));
  await shoot(page, 'folder-picker');
  await move.getByRole('button', { name: /^Default/ }).focus();
  await page.keyboard.press('Enter');
  await move.waitFor({ state: 'detached' });
  await card(page).getByText('in Default').waitFor();
  assert.equal(await count(page, 'Collect'), before + 1, 'moving changes no count');
  await focusIs('the button after a folder was chosen', collect);
  await button(page, 'Collect', second).click();
  await page.getByRole('dialog').getByRole('button', { name: /^Default/ }).click();
  await card(page, second).getByText('in Default').waitFor();

  await leavesAFolder(page, shoot);
}

// defaultHas waits until the default folder has a number of items. With services, an item
// is in the lists of folders only when a worker has persisted it.
async function defaultHas(items) {
  await until(`${items} items are in the default folder`, async () => {
    const { viewer } = await ask(ada, '{ viewer { folders { edges { node { name itemCount } } } } }');
    return viewer.folders.edges.some(({ node }) => node.name === 'Default' && node.itemCount === items) || viewer;
  });
}

// leavesAFolder removes both items from the default folder.
async function leavesAFolder(page, shoot) {
  await defaultHas(2);
  await page.getByRole('link', { name: 'Folders' }).click();
  await page.getByRole('link', { name: /^Weekend\s*0 items/ }).waitFor();
  const shelf = page.getByRole('link', { name: /^Default\s*2 items/ });
  await shelf.focus();
  await page.keyboard.press('Enter');
  await card(page).waitFor();
  await shoot(page, 'folder');
  await page.locator('.back').focus();
  await page.keyboard.press('Enter');
  await focusIs('the folder that was left', shelf);
  await page.keyboard.press('Enter');

  for (const [item, next] of [
    [second, button(page, 'Collect', title)],
    [title, page.locator('main')],
  ]) {
    await button(page, 'Collect', item).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Take it out' }).focus();
    await page.keyboard.press('Enter');
    await card(page, item).waitFor({ state: 'detached' });
    await focusIs('what comes next', next);
  }
  await page.getByText('This folder is empty.').waitFor();
  await until('it is out', async () => (await truth(ada)).collected === null);
  await defaultHas(0);
  await page.goBack();
  await page.getByRole('link', { name: /^Default\s*0 items/ }).waitFor();

  await page.getByRole('button', { name: 'New folder' }).focus();
  await page.keyboard.press('Enter');
  const make = page.getByRole('dialog', { name: 'New folder' });
  await make.getByLabel('New folder').fill('Empty');
  await page.keyboard.press('Enter');
  await make.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: /^Empty\s*0 items/ }).waitFor();
  await focusIs('the button after a folder was made', page.getByRole('button', { name: 'New folder' }));
}

// foldersAreChanged renames, publishes and deletes folders with items.
export async function foldersAreChanged(page, shoot) {
  const name = (text) => `${text} ${Date.now()}`;
  const [old, other, renamed] = ['Old', 'Other', 'Renamed'].map(name);
  const create = 'mutation ($input: CreateFolderInput!) { createFolder(input: $input) { folder { id } } }';
  const { createFolder } = await ask(ada, create, { input: { name: old } });
  await ask(ada, create, { input: { name: other } });
  const { id } = createFolder.folder;
  await ask(ada, 'mutation ($input: CollectInput!) { collect(input: $input) { changed } }', { input: { ...subject, folderId: id } });
  const seenByBen = async () => (await ask(ben, 'query ($id: ID!) { folder(id: $id) { name } }', { id })).folder;
  const inFeed = async (text) => {
    await page.getByRole('navigation').getByRole('link', { name: 'Browse' }).click();
    await until(`the card says ${text}`, async () => ((await card(page).locator('.card-folder').allInnerTexts())[0] ?? '') === text);
  };
  const shelf = (text) => page.getByRole('link', { name: new RegExp(`^${text}`) });
  const openShelf = async (text) => {
    await page.getByRole('navigation').getByRole('link', { name: 'Folders' }).click();
    await shelf(text).click();
    await page.getByRole('heading', { name: text }).waitFor();
  };

  await open(page, ada);
  await inFeed(`in ${old}`);
  await openShelf(old);
  await page.getByRole('button', { name: 'Edit' }).focus();
  await page.keyboard.press('Enter');
  const edit = page.getByRole('dialog', { name: 'Edit folder' });
  await edit.getByLabel('Name').fill(other.toUpperCase());
  await page.keyboard.press('Enter');
  await edit.getByRole('alert').waitFor();
  await edit.getByLabel('Name').fill(renamed);
  await edit.getByLabel('Description').fill('for a rainy day');
  await rules(page);
  await shoot(page, 'folder-edit');
  await edit.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: renamed }).waitFor();
  await page.getByText('for a rainy day').waitFor();
  await focusIs('the button after it was renamed', page.getByRole('button', { name: 'Edit' }));
  await inFeed(`in ${renamed}`);

  await openShelf(renamed);
  assert.equal(await seenByBen(), null);
  await page.getByRole('button', { name: 'Publish', exact: true }).focus();
  await page.keyboard.press('Enter');
  const hide = page.getByRole('button', { name: 'Unpublish' });
  await hide.waitFor();
  await focusIs('the button after it was published', hide);
  assert.deepEqual(await seenByBen(), { name: renamed });
  await hide.click();
  await page.getByRole('button', { name: 'Publish', exact: true }).waitFor();
  assert.equal(await seenByBen(), null);

  await page.getByRole('button', { name: 'Delete' }).click();
  const remove = page.getByRole('dialog', { name: 'Delete this folder?' });
  await remove.getByRole('button', { name: `Move to ${other}` }).click();
  await rules(page);
  await shoot(page, 'folder-delete');
  await remove.getByRole('button', { name: 'Delete folder' }).click();
  await page.getByRole('heading', { name: 'Your folders' }).waitFor();
  await shelf(other).getByText('1 item').waitFor();
  assert.equal(await shelf(renamed).count(), 0);
  await until('its item has moved', async () => (await truth(ada)).collected?.folder.name === other);
  await inFeed(`in ${other}`);

  await openShelf(other);
  await page.getByRole('button', { name: 'Delete' }).click();
  await remove.getByRole('button', { name: 'Take its item out', pressed: true }).waitFor();
  await remove.getByRole('button', { name: 'Delete folder' }).click();
  await page.getByRole('heading', { name: 'Your folders' }).waitFor();
  await until('it is gone', async () => (await shelf(other).count()) === 0);
  await until('its item is in none', async () => (await truth(ada)).collected === null);
  await inFeed('');
}
