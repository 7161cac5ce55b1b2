// The part of the check of the demo page that covers who the viewer is.
import assert from 'node:assert/strict';
import { until } from './browser.mjs';
import { ada, base, button, isPressed, linkIs, open, openSwitch, rules, truth, viewer, viewerIs } from './demo-kit.mjs';

export async function viewerIsSwitched(page, shoot) {
  await open(page, ada);
  await viewer(page, ada.id).click();
  await page.getByRole('heading', { name: ada.id }).waitFor();
  await page.goBack();
  await openSwitch(page);
  await shoot(page, 'viewer');
  await page.getByLabel('Another user').fill('José from anywhere');
  await page.keyboard.press('Enter');
  await viewerIs(page, 'José from anywhere');
  await linkIs(page, 'Live');
  await button(page, 'Like').click();
  await until('it is liked in the new name', async () => (await truth({ id: 'José from anywhere' })).liked !== null);
  await button(page, 'Like').click();
  await until('and no more', async () => (await truth({ id: 'José from anywhere' })).liked === null);
  assert.equal(await isPressed(page), false);

  await openSwitch(page);
  await page.getByRole('button', { name: 'Act as an anonymous visitor' }).click();
  await viewerIs(page, null);
  await linkIs(page, 'Live');
  await button(page, 'Like').click();
  await page.getByRole('dialog', { name: 'Log in' }).waitFor();
}

// logInFits checks that the dialog for logging in needs no scrolling, and its looks.
export async function logInFits(page, name, shoot) {
  await page.goto(`${base}/demo`);
  await openSwitch(page);
  await page.getByRole('button', { name: 'Act as an anonymous visitor' }).click();
  await viewer(page, null).click();
  const dialog = page.getByRole('dialog', { name: 'Log in' });
  await dialog.getByRole('button', { name: 'Create an account' }).click();
  const { over, out: outside } = await dialog.evaluate((element) => ({
    over: element.scrollHeight - element.clientHeight,
    out: Math.max(-element.getBoundingClientRect().top, element.getBoundingClientRect().bottom - innerHeight),
  }));
  assert.ok(over <= 1 && outside <= 1, `the dialog scrolls by ${over} pixels, and is ${outside} outside`);
  await rules(page);
  await shoot(page, `log-in-${name}`);
}

export async function tokenIsRequested(page, shoot) {
  await page.goto(`${base}/demo`);
  await viewerIs(page, null);
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Browse' }).click();
  await linkIs(page, 'Live');
  await button(page, 'Like').click();
  const dialog = page.getByRole('dialog', { name: 'Log in' });
  await dialog.getByRole('button', { name: 'Use a token' }).click();
  await dialog.getByText('ovation token --user alice').waitFor();
  await shoot(page, 'token');
  await dialog.getByLabel('Token').fill('not.a.token');
  await dialog.getByRole('button', { name: 'Use this token' }).click();
  await viewer(page, null).click();
  await dialog.getByText('The last token was rejected').waitFor();
  await dialog.getByLabel('Token').fill(`Authorization: Bearer ${ada.token}`);
  await dialog.getByRole('button', { name: 'Use this token' }).click();
  await viewerIs(page, ada.id);
  await button(page, 'Like').click();
  await until('it is liked', async () => (await truth(ada)).liked !== null);
  await button(page, 'Like').click();
  await until('and no more', async () => (await truth(ada)).liked === null);
}
