// The part of the check of the demo page that covers comments and people.
import assert from 'node:assert/strict';
import { noSidewaysScroll, until } from './browser.mjs';
import { ada, answerWith, ask, base, ben, button, card, linkIs, open, refused, rules, subject, title } from './demo-kit.mjs';

export const drawer = (page) => page.getByRole('dialog', { name: /^Comments/ });
export const comment = (page, text) => drawer(page).locator('.comment', { has: page.locator(`:scope > .comment-body > .comment-text`, { hasText: text }) });
const texts = (page) => drawer(page).locator('.thread > .comments > .comment > .comment-body > :is(.comment-text, .comment-deleted)').allInnerTexts();

export async function openComments(page, person) {
  if (person) await open(page, person);
  await button(page, 'Comments').click();
  await drawer(page).getByLabel('Add a comment').waitFor();
  assert.ok(await drawer(page).getByLabel('Top').isChecked(), 'the comments do not open on the most liked ones');
  await drawer(page).getByLabel('Newest').check();
  await drawer(page).locator('.comment, .thread-empty').first().waitFor();
}

export async function say(page, text) {
  await drawer(page).getByLabel(/^(Add a comment|Reply to)/).fill(text);
  await page.keyboard.press('Enter');
  await comment(page, text).waitFor();
}

export const unique = (text) => `${text} ${Date.now()}`;

// said returns the subject's comments from the server, newest first.
export async function said() {
  const { interactive } = await ask(ada, `query ($biz: String!, $bizId: ID!) {
    interactive(biz: $biz, bizId: $bizId) { commentCount comments(first: 20) { edges { node { id text replyCount deleted } } } }
  }`, subject);
  return interactive;
}

export const addComment = (person, text) =>
  ask(person, 'mutation ($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }', { input: { ...subject, text } });

export async function commentsAreLive(a, b, shoot) {
  await Promise.all([open(a, ada), open(b, ben)]);
  // By keyboard, with the focus returning to where it was.
  await button(a, 'Comments').focus();
  await a.keyboard.press('Enter');
  await drawer(a).waitFor();
  await a.keyboard.press('Escape');
  await drawer(a).waitFor({ state: 'detached' });
  assert.equal(await button(a, 'Comments').evaluate((element) => element === document.activeElement), true, 'the focus comes back');

  await Promise.all([openComments(a), openComments(b)]);
  const { commentCount } = await said();
  const [first, reply, last] = ['first', 'reply', 'last'].map(unique);
  await say(a, first);
  await comment(b, first).waitFor();
  assert.equal((await texts(b))[0], first, 'the newest is first');
  for (const page of [a, b]) await until('it is counted', async () => (await drawer(page).locator('.thread-count').innerText()) === String(commentCount + 1));

  await comment(b, first).getByRole('button', { name: 'Reply' }).click();
  await say(b, reply);
  await comment(a, first).getByRole('button', { name: 'Show 1 reply' }).click();
  await comment(a, reply).waitFor();
  await comment(b, reply).getByRole('button', { name: /^Like, 0/ }).click();
  await comment(a, reply).getByRole('button', { name: 'Like, 1 like' }).waitFor();
  await shoot(a, 'comments');

  await comment(a, first).getByRole('button', { name: 'Edit' }).click();
  await drawer(a).getByLabel('Your comment').fill(last);
  await a.keyboard.press('Control+Enter');
  await comment(b, last).getByText('edited').first().waitFor();
  assert.equal(await comment(b, last).getByRole('button', { name: 'Edit' }).count(), 1, 'only the own reply can be changed');

  // With a reply it keeps its place.
  await comment(a, last).getByRole('button', { name: 'Delete', exact: true }).click();
  await drawer(a).getByRole('button', { name: 'Delete it' }).click();
  await until('it is deleted for both', async () => (await texts(a))[0] === 'This comment was deleted.' && (await texts(b))[0] === 'This comment was deleted.');
  await comment(b, reply).getByRole('button', { name: 'Delete', exact: true }).click();
  await drawer(b).getByRole('button', { name: 'Delete it' }).click();
  for (const page of [a, b]) {
    await until('nothing is left', async () => (await texts(page))[0] !== 'This comment was deleted.');
    await until('it is as before', async () => (await drawer(page).locator('.thread-count').innerText()) === String(commentCount));
  }

  for (const order of ['Oldest', 'Top']) {
    await drawer(a).getByLabel(order).check();
    await drawer(a).locator('.comment').first().waitFor();
  }
  const { interactive } = await ask(ada, 'query ($biz: String!, $bizId: ID!) { interactive(biz: $biz, bizId: $bizId) { comments(order: TOP, first: 1) { edges { node { text } } } } }', subject);
  await until('the most liked is first', async () => (await texts(a))[0] === interactive.comments.edges[0].node.text);
}

export async function nothingIsMissedOffline(b) {
  const cursors = [];
  b.on('websocket', (socket) => {
    socket.on('framesent', ({ payload }) => {
      const message = JSON.parse(payload);
      if (message.payload?.query?.includes('commentsChanged')) cursors.push(message.payload.variables.after);
    });
  });
  await openComments(b, ben);
  const early = unique('before');
  await addComment(ada, early);
  await comment(b, early).waitFor();
  await b.context().setOffline(true);
  await linkIs(b, 'Offline');
  await drawer(b).getByText('New comments appear when the connection is restored.').waitFor();
  const late = [1, 2, 3].map((n) => unique(`meanwhile ${n}`));
  for (const text of late) await addComment(ada, text);
  // A comment that cannot be sent is not lost.
  const own = unique('own');
  await drawer(b).getByLabel('Add a comment').fill(own);
  await b.keyboard.press('Control+Enter');
  await drawer(b).getByText('Will send when you are back online.').waitFor();
  await b.context().setOffline(false);
  await linkIs(b, 'Live');
  await comment(b, late[2]).waitFor();
  await comment(b, own).waitFor();
  assert.deepEqual((await texts(b)).filter((text) => text !== own).slice(0, 4), [...late.toReversed(), early], 'all of them, each once');
  assert.notEqual(cursors.at(-1), cursors[0], 'it goes on where it was');
  await drawer(b).getByRole('list', { name: 'Comments to be sent' }).waitFor({ state: 'detached' });
  assert.equal((await said()).comments.edges.filter(({ node }) => node.text === own).length, 1);
}

// repeatedCommentIsAddedOnce makes the server add a comment and respond with UNAVAILABLE.
export async function repeatedCommentIsAddedOnce(page, shoot) {
  await openComments(page, ada);
  const text = unique('once');
  await answerWith(page, 'AddComment', async (route) => {
    await route.fetch();
    return route.fulfill(refused('UNAVAILABLE'));
  });
  await drawer(page).getByLabel('Add a comment').fill(text);
  await page.keyboard.press('Control+Enter');
  await drawer(page).getByText('It may have been done all the same').waitFor();
  await comment(page, text).waitFor(); // the stream delivers it
  await shoot(page, 'comment-unconfirmed');
  await page.unroute('**/graphql');
  // The draft is still there when the drawer is opened again.
  await page.keyboard.press('Escape');
  await openComments(page);
  assert.equal(await drawer(page).getByLabel('Add a comment').inputValue(), text);
  await drawer(page).getByRole('button', { name: 'Send' }).click();
  await until('the field is empty', async () => (await drawer(page).getByLabel('Add a comment').inputValue()) === '');
  assert.equal((await said()).comments.edges.filter(({ node }) => node.text === text).length, 1, 'it was added twice');
  assert.equal((await texts(page)).filter((one) => one === text).length, 1);
}

// rejectedChangesAreRolledBack has changes of a comment rejected.
export async function rejectedChangesAreRolledBack(page) {
  await openComments(page, ada);
  const text = unique('stays');
  await say(page, text);
  await answerWith(page, 'DeleteComment', (route) => route.fulfill(refused('RATE_LIMITED')));
  await comment(page, text).getByRole('button', { name: 'Delete', exact: true }).click();
  await drawer(page).getByRole('button', { name: 'Delete it' }).click();
  await drawer(page).getByRole('region', { name: 'Notices' }).getByText('Could not delete the comment').hover(); // so that it stays
  await comment(page, text).waitFor();
  await page.unroute('**/graphql');
  await drawer(page).getByRole('button', { name: 'Try again' }).click();
  await comment(page, text).waitFor({ state: 'detached' });
  await until('it is gone', async () => !(await said()).comments.edges.some(({ node }) => node.text === text));
}

export async function peopleFollowEachOther(a, b, shoot) {
  const profile = (person) => `${base}/demo#/people/${encodeURIComponent(person.id)}`;
  const followers = async (page) => page.locator('.profile .tally div', { hasText: 'followers' }).locator('.unseen').innerText();
  await Promise.all([open(a, ada), open(b, ben)]);
  await Promise.all([a.goto(profile(ben)), b.goto(`${profile(ben)}/followers`)]);
  await a.getByRole('heading', { name: ben.id }).waitFor();
  await until('nobody follows yet', async () => (await followers(a)) === '0');

  let asked = 0;
  await answerWith(a, 'Follow', (route) => (asked++ === 0 ? route.fulfill(refused('RATE_LIMITED')) : route.fallback()));
  await a.getByRole('button', { name: `Follow ${ben.id}` }).click();
  await a.getByRole('region', { name: 'Notices' }).getByText('Could not follow').hover(); // so that it stays
  await until('it is taken back', async () => (await followers(a)) === '0');
  await a.getByRole('region', { name: 'Notices' }).getByRole('button', { name: 'Try again' }).click();
  await a.getByRole('button', { name: `Following ${ben.id}. Unfollow` }).waitFor();
  await until('the other sees it', async () => (await followers(b)) === '1');
  await b.reload();
  await b.locator('.person-row', { hasText: ada.id }).getByRole('button', { name: `Follow ${ada.id}` }).click();
  await b.getByRole('button', { name: `Following ${ada.id}. Unfollow` }).waitFor();
  await until('both are friends', async () => {
    const { viewer } = await ask(ben, '{ viewer { friends { edges { node { user { userId } } } } } }');
    return viewer.friends.edges[0]?.node.user.userId === ada.id;
  });
  await a.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Profile' }).click();
  await a.getByRole('link', { name: 'Friends' }).click();
  await a.locator('.person-row', { hasText: ben.id }).waitFor();
  await shoot(a, 'friends');
  await a.locator('.person-row').getByRole('link', { name: ben.id }).click();
  await a.getByRole('button', { name: `Following ${ben.id}. Unfollow` }).click();
  await until('and no more', async () => (await followers(b)) === '0');
  await b.locator('.person-row').getByRole('button').click();
  await until('it is as before', async () => (await ask(ben, '{ viewer { following { edges { cursor } } } }')).viewer.following.edges.length === 0);
}

// talkLooks takes screenshots of the drawer and of a profile, and checks each against axe's
// rules.
export async function talkLooks(page, name, shoot) {
  await openComments(page, ada);
  await drawer(page).locator('.comment').first().waitFor();
  await rules(page);
  await noSidewaysScroll(page);
  await shoot(page, `${name}-comments`);
  await drawer(page).getByRole('button', { name: /^Show \d+ repl/ }).first().click();
  await drawer(page).locator('.comment .comment').first().waitFor();
  await page.keyboard.press('Escape');
  assert.ok(await card(page, title).isVisible());
  for (const view of ['bob', 'bob/followers', 'bob/folders', encodeURIComponent(ada.id)]) {
    await page.goto(`${base}/demo#/people/${view}`);
    await page.locator('.person-row, .card, .cover-link, .shelf, .empty').first().waitFor();
    await rules(page);
    await noSidewaysScroll(page);
    await shoot(page, `${name}-people-${view.replace('/', '-')}`);
  }
}

// hostileTextIsContained shows the worst text that a user may write.
export async function hostileTextIsContained(page, shoot) {
  const marks = `marks ${'e'.repeat(5)}${'\u0301\u0308\u0327'.repeat(600)}`;
  const long = `long ${'W'.repeat(1_990)}`;
  const lines = `lines${'\n'.repeat(1_900)}end`;
  const turned = 'turned \u2067right to left\u2069';
  for (const text of [marks, long, lines, turned]) await addComment(ada, text);
  await openComments(page, ada);
  await comment(page, 'turned').waitFor();
  for (const text of ['turned', 'lines', 'long', 'marks']) {
    const box = await comment(page, text).first().boundingBox();
    assert.ok(box.height < 420, `${text} is ${box.height} pixels high`);
  }
  await noSidewaysScroll(page);
  await rules(page);
  await shoot(page, 'hostile-comments');
}
