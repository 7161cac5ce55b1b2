// Shared by the checks of the demo page: its users and what they look at.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { desktop, until } from './browser.mjs';

export const [base, out] = process.argv.slice(2);
if (!base || !out || !URL.canParse(base)) {
  console.error('usage: node check/demo.mjs BASE_URL OUT_DIR, for example http://127.0.0.1:8080 /tmp/shots');
  process.exit(2);
}
export const tokens = process.env.OVATION_CHECK_TOKENS ? process.env.OVATION_CHECK_TOKENS.split(' ') : undefined;
export const people = tokens
  ? tokens.map((token) => ({ id: JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).sub, token }))
  : ['ada', 'ben', 'cleo'].map((name) => ({ id: `${name}-${Date.now()}` }));
export const [ada, ben, cleo] = people; // cleo reads only

// An item that the page shows, and its title.
export const title = 'Packing for the second night';
export const subject = { biz: 'article', bizId: '1' };

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const light = { ...desktop, colorScheme: 'light' };
export const dark = { ...desktop, colorScheme: 'dark' };

// open opens the page as a user, or as an anonymous viewer. Requests are intercepted from
// the first one on, because Chromium begins to intercept with a delay in a page that is
// open: a request that follows answerWith at once could pass.
export async function open(page, person, view = 'Browse') {
  await page.route('**/graphql', (route) => route.fallback());
  const who = person?.token ? `token=${person.token}` : `user=${encodeURIComponent(person?.id ?? '')}`;
  if (person) await page.goto(`${base}/demo#${who}`);
  else await page.goto(`${base}/demo`);
  await views(page).waitFor();
  if (view === 'Browse') await views(page).getByRole('link', { name: view }).click();
  else await page.evaluate((hash) => (location.hash = hash), `#/${view.toLowerCase()}`); // phones have no tab for it
  await linkIs(page, 'Live');
  await page.locator('main:not([data-view^=clip])').getByRole('article').first().getByRole('button', { name: /^Like, / }).waitFor();
}

export const views = (page) => page.getByRole('navigation', { name: 'Views' });

// viewerIs waits until the page shows who the viewer is: the name of a user, or null for an
// anonymous viewer, who can log in.
export async function viewerIs(page, name) {
  await viewer(page, name).waitFor();
}

export function viewer(page, name) {
  const masthead = page.locator('.masthead');
  if (name === null) return masthead.getByRole('button', { name: 'Log in', exact: true });
  return masthead.getByRole('link', { name: `${name}, your profile`, exact: true });
}

// openSwitch opens the dialog in which one acts as somebody else.
export async function openSwitch(page) {
  await page.locator('.masthead').getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Act as somebody else' }).first().click();
  await page.getByRole('dialog', { name: 'Act as somebody else' }).waitFor();
}

export async function linkIs(page, label) {
  await page.locator('.link-label', { hasText: new RegExp(`^${label}$`) }).waitFor();
}

export function card(page, name = title) {
  return page.getByRole('article', { name });
}

export function button(page, what, name = title) {
  return card(page, name).getByRole('button', { name: new RegExp(`^${what}`) });
}

// focusIs waits until an element has the focus.
export async function focusIs(what, element) {
  await until(`the focus is on ${what}`, () => element.evaluate((one) => one === document.activeElement || document.activeElement.outerHTML.slice(0, 200)));
}

// count returns the number in a button's name, such as "Like, 74 likes".
export async function count(page, what = 'Like', name = title) {
  const label = await button(page, what, name).getAttribute('aria-label');
  return Number(/, ([\d,]+) /.exec(label)?.[1].replaceAll(',', ''));
}

export async function isPressed(page, what = 'Like', name = title) {
  return (await button(page, what, name).getAttribute('aria-pressed')) === 'true';
}

// ask sends an operation as a user.
export async function ask({ id, token }, query, variables = {}) {
  const who = token ? { authorization: `Bearer ${token}` } : { 'x-ovation-user': Buffer.from(id).toString('latin1') };
  const response = await fetch(`${base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...who },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  return data;
}

// truth returns the state of the subject from the server.
export async function truth(person) {
  const query = `query ($biz: String!, $bizId: ID!) {
    interactive(biz: $biz, bizId: $bizId) { readCount likeCount liked { reaction } read { times } collected { folder { name } } }
  }`;
  return (await ask(person, query, subject)).interactive;
}

// record records every state of a button from now on: the count, and whether it is pressed.
export async function record(page, what = 'Like') {
  return button(page, what).evaluateHandle((element) => {
    const states = [];
    const note = () => {
      const state = `${/, ([\d,]+) /.exec(element.ariaLabel)?.[1]} ${element.ariaPressed}`;
      if (states.at(-1) !== state) states.push(state);
    };
    note();
    new MutationObserver(note).observe(element, { attributes: true });
    return states;
  });
}

// answerWith replaces the response to one operation.
export async function answerWith(page, operation, change) {
  await page.route('**/graphql', async (route) => {
    if (route.request().postDataJSON()?.operationName !== operation) return route.fallback();
    return change(route);
  });
}

// refused returns an error response to a like.
export function refused(code) {
  return { json: { data: null, errors: [{ message: 'not now', path: ['like'], extensions: { code } }] } };
}

// atRest waits until all animations have finished.
export async function atRest(page) {
  await page.evaluate(() => Promise.all(document.getAnimations().filter((one) => one.effect.getTiming().iterations === 1).map((one) => one.finished.catch(() => {}))));
}

export async function rules(page) {
  await atRest(page); // so that colours are final
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }));
  assert.deepEqual(
    violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).slice(0, 3).join('; ')}`),
    [],
  );
}
