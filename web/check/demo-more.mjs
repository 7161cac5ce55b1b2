// The part of the check of the demo page that covers lists of several pages, by keyboard.
import { until } from './browser.mjs';
import { ada, answerWith, ask, ben, focusIs, open, subject } from './demo-kit.mjs';
import { addComment, comment, drawer, openComments, unique } from './demo-talk.mjs';

export async function moreByKeyboard(page) {
  await open(page, ada);
  await page.getByRole('button', { name: 'More to see' }).focus(); // which loads the next page by itself
  await until('the focus is on the next page', () =>
    page.evaluate(() => document.activeElement.closest('section')?.ariaLabel === 'Page 2' || document.activeElement.outerHTML.slice(0, 200)),
  );

  const text = unique('with many replies');
  const { addComment: added } = await addComment(ada, text);
  const reply = 'mutation ($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }';
  for (let n = 1; n <= 21; n++) await ask(ben, reply, { input: { ...subject, text: `reply ${n}`, replyTo: added.comment.id } });
  await page.evaluate(() => scrollTo(0, 0));
  await openComments(page);
  await comment(page, text).getByRole('button', { name: 'Show 21 replies' }).click();
  const more = comment(page, text).getByRole('button', { name: 'More replies' });
  await more.focus();

  let answer;
  const held = new Promise((resolve) => (answer = resolve));
  await answerWith(page, 'Replies', async (route) => {
    await held;
    return route.fallback();
  });
  await page.keyboard.press('Enter');
  await until('it waits', async () => (await more.getAttribute('aria-busy')) === 'true');
  await focusIs('the button, meanwhile', more);
  answer();
  await focusIs('the next reply', drawer(page).locator('.comment', { hasText: 'reply 21' }).last());
}
