// The part of the check of the demo page that covers text and focus in the drawer of
// comments.
import assert from 'node:assert/strict';
import { until } from './browser.mjs';
import { ada, answerWith, focusIs, refused } from './demo-kit.mjs';
import { addComment, comment, drawer, openComments, said, say, unique } from './demo-talk.mjs';

const field = (page) => drawer(page).getByLabel(/^(Add a comment|Reply to)/);
const send = (page) => drawer(page).getByRole('button', { name: 'Send' });
const written = (page) => field(page).inputValue();

// reopen closes the drawer and opens it again, without a pause between the keys.
async function reopen(page) {
  const keys = ['Escape', 'Enter']; // after Escape, the button that opens it has the focus
  await Promise.all(keys.map((key) => page.keyboard.press(key)));
  await field(page).waitFor();
  await drawer(page).locator('.comment').first().waitFor();
}

export async function draftsAreKept(page) {
  await openComments(page, ada);
  const [first, text] = ['to reply to', 'draft'].map(unique);
  await say(page, first);

  await comment(page, first).getByRole('button', { name: 'Reply' }).click();
  await focusIs('the field', field(page));
  await field(page).fill(text);
  await drawer(page).getByRole('button', { name: 'No reply' }).click();
  await focusIs('the field', field(page));
  await reopen(page);
  assert.equal(await drawer(page).getByLabel('Add a comment').inputValue(), text);
  assert.equal(await drawer(page).getByText('A reply to').count(), 0, 'the draft is a reply again');

  await comment(page, first).getByRole('button', { name: 'Reply' }).click();
  await reopen(page);
  assert.equal(await drawer(page).getByLabel(`Reply to ${ada.id}`).inputValue(), text);
  await send(page).click();
  await comment(page, first).locator('.comment', { hasText: text }).waitFor();
  await drawer(page).getByLabel('Add a comment').waitFor();
  assert.equal(await written(page), '');
}

export async function textTypedMeanwhileIsKept(page) {
  await openComments(page, ada);

  // hold delays the response to the next comment. It returns a function that releases it.
  async function hold(answer = (route) => route.fallback()) {
    let letGo;
    const gate = new Promise((resolve) => (letGo = resolve));
    await page.unroute('**/graphql');
    await answerWith(page, 'AddComment', async (route) => {
      await gate;
      return answer(route);
    });
    return letGo;
  }
  const busy = (is) => until(`sending is ${is}`, async () => (await send(page).getAttribute('aria-busy')) === String(is));

  const first = unique('first');
  let answer = await hold();
  await field(page).fill(first);
  await page.keyboard.press('Control+Enter');
  await busy(true);
  await page.keyboard.insertText(' and more');
  answer();
  await comment(page, first).waitFor();
  await busy(false);
  assert.equal(await written(page), `${first} and more`, 'it is lost with the answer');

  answer = await hold((route) => route.fulfill(refused('RATE_LIMITED')));
  await page.keyboard.press('Control+Enter');
  await busy(true);
  await page.keyboard.insertText(', still');
  answer();
  await drawer(page).getByText('Too many requests.').waitFor();
  assert.equal(await written(page), `${first} and more, still`, 'it is lost with the error');

  // The response arrives after the drawer was opened again.
  const last = unique('last');
  answer = await hold();
  await field(page).fill(last);
  await page.keyboard.press('Control+Enter');
  await busy(true);
  await reopen(page);
  assert.equal(await written(page), last);
  answer();
  await comment(page, last).waitFor();
  await until('the field is empty', async () => (await written(page)) === '' || (await written(page)));
  assert.deepEqual((await said()).comments.edges.slice(0, 2).map(({ node }) => node.text), [last, first], 'each was added once');
}

export async function editsAreKept(page) {
  await openComments(page, ada);
  const [text, edited] = ['before', 'edited'].map(unique);
  await say(page, text);
  await answerWith(page, 'EditComment', (route) => route.fulfill(refused('RATE_LIMITED')));
  const edit = comment(page, text).getByRole('button', { name: 'Edit' });
  await edit.click();
  await drawer(page).getByLabel('Your comment').fill(edited);
  await page.keyboard.press('Control+Enter');
  await drawer(page).getByText('Could not change your comment').waitFor();
  await edit.click();
  assert.equal(await drawer(page).getByLabel('Your comment').inputValue(), edited);
  await page.unroute('**/graphql');
  await page.keyboard.press('Control+Enter');
  await until('it is stored', async () => (await said()).comments.edges[0].node.text === edited);
  await comment(page, edited).getByRole('button', { name: 'Edit' }).click();
  assert.equal(await drawer(page).getByLabel('Your comment').inputValue(), edited);
}

export async function focusStaysInTheDrawer(page) {
  const below = unique('below');
  await addComment(ada, below);
  await openComments(page, ada);
  const text = unique('by keyboard');
  await field(page).fill(text);
  await page.keyboard.press('Tab');
  await focusIs('the button', send(page));
  await page.keyboard.press('Enter');
  await comment(page, text).waitFor();
  await focusIs('the field', field(page));

  const act = (name) => comment(page, text).getByRole('button', { name, exact: true });
  for (const leave of ['Escape', 'Control+Enter']) {
    await act('Edit').focus();
    await page.keyboard.press('Enter');
    await focusIs('the text', drawer(page).getByLabel('Your comment'));
    await page.keyboard.press(leave);
    await focusIs('Edit', act('Edit'));
  }
  await act('Delete').focus();
  await page.keyboard.press('Enter');
  await focusIs('Delete it', act('Delete it'));
  await act('Keep it').focus();
  await page.keyboard.press('Enter');
  await focusIs('Delete', act('Delete'));

  // A comment with a reply stays, without its text.
  await act('Reply').click();
  const reply = unique('reply');
  await say(page, reply);
  const id = await comment(page, text).getAttribute('data-comment');
  await act('Delete').first().focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  const left = drawer(page).locator(`[data-comment="${id}"]`);
  await left.getByText('This comment was deleted.').waitFor();
  await focusIs('what is left of it', left);

  // Deleting its last reply removes it, too.
  await comment(page, reply).getByRole('button', { name: 'Delete', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await comment(page, reply).waitFor({ state: 'detached' });
  await left.waitFor({ state: 'detached' });
  await focusIs('the next one', comment(page, below));
  await comment(page, below).getByRole('button', { name: 'Delete', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await comment(page, below).waitFor({ state: 'detached' });
  await focusIs('the next one', drawer(page).locator('.thread > .comments > .comment').first());
}
