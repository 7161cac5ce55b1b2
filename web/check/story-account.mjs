// The part of the check of the story that covers the accounts of both users.
import assert from 'node:assert/strict';
import { until } from './browser.mjs';
import { focusIs, linkIs, openSwitch, rules, viewer, viewerIs } from './demo-kit.mjs';

export const dialog = (page) => page.getByRole('dialog').last();
export const view = (page, name) => page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: new RegExp(`^${name}`) });

// accountOf waits until the page shows a user's account.
export async function accountOf(page, { name }) {
  await viewerIs(page, name);
}

// chats waits until the page shows a number of unread messages.
export async function chats(page, unread) {
  await until(`${unread} unread`, async () => {
    const says = await view(page, 'Chats').innerText();
    return Number(/, (\d+) unread/.exec(says)?.[1] ?? 0) === unread || says;
  });
}

// loginOf returns the login that the browser has stored.
export const loginOf = (page) => page.evaluate(() => JSON.parse(localStorage.getItem('ovation:demo:login')));

async function openAccounts(page) {
  const names = await page.evaluate(() => document.documentElement.hasAttribute('data-accepts-names'));
  if (names && (await page.locator('.masthead').getByRole('link', { name: /, your profile$/ }).or(viewer(page, null)).innerText()) !== 'Log in') {
    await openSwitch(page);
    await dialog(page).getByRole('button', { name: 'Log in or register' }).click();
  } else {
    await viewer(page, null).click();
  }
  await dialog(page).getByLabel('Name').waitFor();
}

// openAccount opens the dialog of the account that is logged in, from its profile.
async function openAccount(page, { name }) {
  await viewer(page, name).click();
  await page.locator('main').getByRole('button', { name: 'Account' }).click();
}

export async function register(page, { name, password }, shoot) {
  await openAccounts(page);
  await dialog(page).getByRole('button', { name: 'Create an account' }).click();
  await dialog(page).getByLabel('Name').fill(name);
  await dialog(page).getByLabel('Password', { exact: true }).fill('short');
  await dialog(page).getByRole('button', { name: 'Register', exact: true }).click();
  await dialog(page).getByRole('alert').getByText('at least 6 characters').waitFor();
  await rules(page);
  await shoot(page, `story-register-${name.split(' ')[0].toLowerCase()}`);
  await dialog(page).getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
  await accountOf(page, { name });
  await focusIs('the profile', viewer(page, name));
}

export async function logIn(page, { name, password }) {
  await openAccounts(page);
  await dialog(page).getByLabel('Name').fill(name);
  await dialog(page).getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
  await accountOf(page, { name });
}

// logInEnds tries a wrong password, and the name in other letters.
export async function logInEnds(page, { name }, shoot) {
  await openAccounts(page);
  await dialog(page).getByLabel('Name').fill(name.toUpperCase());
  await dialog(page).getByLabel('Password', { exact: true }).fill('not the password');
  await page.keyboard.press('Enter');
  await dialog(page).getByRole('alert').getByText('The name or the password is wrong.').waitFor();
  assert.equal(await dialog(page).getByLabel('Password', { exact: true }).inputValue(), 'not the password', 'what was typed is kept');
  await rules(page);
  await shoot(page, 'story-wrong');
  await page.keyboard.press('Escape');
}

// profileIsSaved leaves the dialog open.
export async function profileIsSaved(page, { name }, signature) {
  await openAccount(page, { name });
  await dialog(page).getByRole('button', { name: 'Edit your profile' }).click();
  await until('the form has the name', async () => (await dialog(page).getByLabel('Name').inputValue()) === name);
  await dialog(page).getByLabel('About you').fill(signature);
  await rules(page);
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).getByLabel('About you').waitFor({ state: 'detached' });
  const edit = dialog(page).getByRole('button', { name: 'Edit your profile' });
  await edit.click();
  assert.equal(await dialog(page).getByLabel('About you').inputValue(), signature);
  await edit.click();
}

// pictureIsIn waits until a part of the page shows an uploaded picture.
export async function pictureIsIn(part) {
  const picture = part.locator('.avatar img').first();
  await until('the picture is shown', () => picture.evaluate((img) => img.complete && img.naturalWidth === 256).catch(() => false));
}

// pictureIsChanged uploads a picture in the account, removes it, and uploads it again.
export async function pictureIsChanged(page, { name }, shoot) {
  await openAccount(page, { name });
  await dialog(page).getByRole('button', { name: 'Edit your profile' }).click();
  const form = dialog(page).getByRole('group', { name: 'Picture' });
  const file = { name: 'me.png', mimeType: 'image/png', buffer: await page.screenshot() };
  const upload = async () => {
    await form.locator('input[type=file]').setInputFiles(file);
    await pictureIsIn(form);
    await pictureIsIn(viewer(page, name));
  };
  await upload();
  await rules(page);
  await shoot(page, 'story-picture');
  await form.getByRole('button', { name: 'Remove picture' }).click();
  for (const part of [form, viewer(page, name)]) await until('the picture is removed', async () => (await part.locator('.avatar img').count()) === 0);
  await upload();
  await page.keyboard.press('Escape');
}

// tokenIsRenewed moves the login to three quarters of its lifetime. A new token replaces it,
// and everything continues.
export async function tokenIsRenewed(page, person) {
  const before = await loginOf(page);
  await until('a token of now is another one', () => Date.now() > before.since + 1_500); // the times in tokens are in seconds
  await page.evaluate((login) => {
    localStorage.setItem('ovation:demo:login', JSON.stringify({ ...login, since: login.since - 0.8 * (login.until - Date.now()) * 5 }));
  }, before);
  await page.reload();
  await accountOf(page, person);
  await until('the token is renewed', async () => {
    const { token, since, userId } = await loginOf(page);
    return (token !== before.token && userId === before.userId && Math.abs(Date.now() - since) < 60_000) || { token, since };
  });
  await linkIs(page, 'Live');
  const text = `Renewed ${Date.now()}`;
  await view(page, 'Chats').click();
  await page.locator('main[data-view=chats]').getByRole('link').first().click();
  await page.getByLabel(/^Message to/).fill(text);
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText(text).waitFor();
  await until('it is sent', async () => (await page.getByText('Sending …').count()) === 0);
}

// sessionsEnd logs mine out of a, and then person out everywhere, from one of two devices:
// both show it.
export async function sessionsEnd(a, b, mine, person, shoot) {
  await openAccount(a, mine);
  await dialog(a).getByRole('button', { name: 'Log out', exact: true }).click();
  await viewerIs(a, null);
  assert.equal(await loginOf(a), null);
  await logIn(a, person);
  await view(b, 'Feed').click();
  await openAccount(a, person);
  await dialog(a).getByRole('button', { name: 'Log out everywhere' }).click();
  for (const page of [a, b]) await viewerIs(page, null);
  assert.equal(await loginOf(b), null, 'the other device keeps a token that is revoked');
  await viewer(b, null).click();
  await dialog(b).getByText('Your session has ended. Log in again.').waitFor();
  await rules(b);
  await shoot(b, 'story-ended');
  await b.keyboard.press('Escape');
  await logIn(b, person);
}
