// Checks the demo page of a running server in headless Chromium, as two users with
// accounts: from registration to a chat about a clip that one of them has published, and what
// both do while one of them is offline.
//
//   node check/story.mjs BASE_URL OUT_DIR
//
// OVATION_CHECK_CLIP is an MP4 file of a few seconds. OVATION_CHECK_COVERS is the kind of
// covers that the server has: made, if ffmpeg is installed, or generated. Screenshots go to
// OUT_DIR. Exits with 1 at the first fault.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { done, noSidewaysScroll, openBrowser, phone, until } from './browser.mjs';
import { ask, base, dark, focusIs, linkIs, out, rules } from './demo-kit.mjs';
import { accountOf, chats, dialog, logIn, logInEnds, loginOf, pictureIsChanged, pictureIsIn, profileIsSaved, register, sessionsEnd, tokenIsRenewed, view } from './story-account.mjs';

const clip = readFileSync(process.env.OVATION_CHECK_CLIP);
const covers = process.env.OVATION_CHECK_COVERS;
const stamp = Date.now() % 1_000_000;
const mia = { name: `Mia ${stamp}`, password: 'a bicycle in the rain' };
const noah = { name: `Noah ${stamp}`, password: 'two bicycles in the rain' };
const title = `My first clip ${stamp}`;
let uploaded; // when the clip was published
let coverMade = false; // and the page must show it

const refused = /status of 401/; // logged for a session that has ended
const gone = /ERR_INTERNET_DISCONNECTED|WebSocket connection/;

const { visit, shoot, close } = await openBrowser(base, out);
try {
  await visit('story', [{ ...phone, colorScheme: 'light' }, dark], story);
  await visit('account', [{ ...phone, colorScheme: 'dark' }, dark], account, refused);
  await visit('chat offline', [dark, { ...phone, colorScheme: 'dark' }], chatOffline, gone);
  await visit('offline again and again', [{ ...phone, colorScheme: 'light' }, dark], offlineAgainAndAgain, gone);
  await visit('deleted', [{ ...phone, colorScheme: 'light' }, dark], deleted);
  console.log(`ok: screenshots are in ${out}`);
} finally {
  await close();
  done();
}

// story is the story of a, on a phone, and b.
async function story(a, b) {
  await Promise.all([a.goto(`${base}/demo`), b.goto(`${base}/demo`)]);
  await Promise.all([register(a, mia, shoot), register(b, noah, shoot)]);
  await uploadIsCancelled(a);
  await publish(a);
  await clipPlays(a);
  await checked(a, 'clip');
  await clipIsFound(b);
  await clipIsAnswered(a, b);
  await pictureIsBesideTheComment(b);
  await theyChat(a, b);
  await clipIsSent(a, b);
}

// checked takes a screenshot of a view and checks it against axe's rules.
async function checked(page, name) {
  await rules(page);
  await noSidewaysScroll(page);
  await shoot(page, `story-${name}`);
}

async function chooseFile(page, bytes, name) {
  await page.getByRole('button', { name: 'Upload a clip' }).click();
  await dialog(page).locator('input[type=file]').setInputFiles({ name: 'clip.mp4', mimeType: 'video/mp4', buffer: bytes });
  await dialog(page).getByRole('textbox', { name: 'Title' }).fill(name);
}

// uploadIsCancelled cancels an upload over a slow connection half way.
async function uploadIsCancelled(page) {
  const answers = [];
  page.on('response', (response) => response.url().endsWith('/media/videos') && answers.push(response.status()));
  const line = await page.context().newCDPSession(page);
  const slow = { offline: false, latency: 20, downloadThroughput: -1, uploadThroughput: 50_000 };
  await line.send('Network.enable');
  await line.send('Network.emulateNetworkConditions', slow);
  await chooseFile(page, Buffer.concat([clip, Buffer.alloc(12_000_000)]), 'Never to be seen');
  await checked(page, 'upload');
  await dialog(page).getByRole('button', { name: 'Publish' }).click();
  await dialog(page).getByRole('progressbar', { name: 'Upload' }).waitFor();
  await until('a part of it is sent', async () => Number(await dialog(page).getByRole('progressbar').getAttribute('value')) > 0.01);
  await checked(page, 'progress');
  // The upload continues while its dialog is closed.
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Upload, \d+% sent$/ }).click();
  await dialog(page).getByRole('button', { name: 'Cancel the upload' }).click();
  await dialog(page).getByRole('button', { name: 'Publish' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Upload a clip' }).waitFor();
  await line.send('Network.emulateNetworkConditions', { ...slow, latency: 0, uploadThroughput: -1 });
  await line.detach();
  assert.deepEqual(answers, [], 'the server has answered an upload that was cancelled');
}

async function publish(page) {
  await chooseFile(page, clip, title);
  uploaded = Date.now();
  await dialog(page).getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('heading', { name: title }).waitFor();
}

function drawer(page) {
  return page.getByRole('dialog', { name: /^Comments/ });
}

function article(page) {
  return page.getByRole('article', { name: title });
}

async function clipPlays(page) {
  await until('the clip plays', () =>
    article(page)
      .locator('video[data-shown]')
      .evaluate((video) => (video.currentTime > 0 && video.muted && video.getVideoPlaybackQuality().totalVideoFrames > 0) || [video.readyState, video.error?.message]),
  );
  await coverIsShown(page);
  assert.equal(await article(page).getByRole('button', { name: 'Sound' }).getAttribute('aria-pressed'), 'false');
  const pause = article(page).getByRole('button', { name: `Pause ${title}` });
  await pause.focus();
  await page.keyboard.press('Enter');
  await article(page).getByRole('button', { name: `Play ${title}` }).waitFor();
  await until('it stands still', () => article(page).locator('video').evaluate((video) => video.paused));
  await page.keyboard.press('Enter');
  await pause.waitFor();
}

// coverIsShown waits for the cover of the clip in view. After an upload, the page asks for
// the clip for 22 s, so it must show a cover that was made by then. If the cover is made
// later, the page is reloaded.
async function coverIsShown(page) {
  const kind = { made: 'covers', generated: 'placeholders' }[covers];
  await until(`its cover is ${covers}`, async () => {
    const src = await article(page).locator('.clip-cover').getAttribute('src');
    if (src?.includes(`/${kind}/`)) return (coverMade = true);
    if (!coverMade) {
      const videoId = /[^/]+$/.exec(page.url())[0];
      const { video } = await ask(await loginOf(page), 'query($videoId: ID!) { video(videoId: $videoId) { coverUrl } }', { videoId });
      coverMade = video.coverUrl.includes(`/${kind}/`) && Date.now() - uploaded < 20_000;
    }
    if (!coverMade && Date.now() - uploaded > 25_000) {
      await page.reload();
      await article(page).waitFor();
    }
    return src;
  });
}

// clipIsFound finds a clip that was published while the feed was open.
async function clipIsFound(page) {
  await page.getByRole('button', { name: 'New clips' }).click(); // the page asks from time to time
  await article(page).waitFor();
  await linkIs(page, 'Live');
  await until('the newest clip is in view', () =>
    article(page).evaluate((one) => {
      const { top, height } = one.getBoundingClientRect();
      return top + height / 2 > 0 && top + height / 2 < innerHeight;
    }),
  );
  await checked(page, 'feed');
  // By keyboard to the next clip, if there is one, and back.
  const all = page.locator('.clips > .clip');
  if ((await all.count()) < 2) return;
  await page.getByRole('feed').focus();
  await page.keyboard.press('ArrowDown');
  await focusIs('the next clip', all.nth(1));
  await all.nth(1).getByRole('button', { name: /^Pause/ }).waitFor();
  await until('one clip plays', () => page.evaluate(() => [...document.querySelectorAll('.clip video')].filter((video) => !video.paused).length <= 1));
  await page.keyboard.press('ArrowUp');
  await focusIs('the first clip', all.nth(0));
}

// clipIsAnswered has b like and comment on the clip, which a sees at once.
async function clipIsAnswered(a, b) {
  await article(b).getByRole('button', { name: 'Like, 0 likes' }).click();
  await article(a).getByRole('button', { name: 'Like, 1 like' }).waitFor();
  await article(b).getByRole('button', { name: `Follow ${mia.name}` }).click();
  await article(b).getByRole('button', { name: /^Comments/ }).click();
  await drawer(b).getByLabel('Add a comment').fill('Lovely colours!');
  await b.keyboard.press('Enter');
  await drawer(b).locator('.comment', { hasText: 'Lovely colours!' }).getByText(noah.name).first().waitFor();
  await article(a).getByRole('button', { name: /^Comments/ }).click();
  await drawer(a).locator('.comment', { hasText: 'Lovely colours!' }).waitFor();
  await checked(a, 'comments');
  await a.keyboard.press('Escape');
  await b.keyboard.press('Escape');
}

// pictureIsBesideTheComment has the author of the comment upload a picture.
async function pictureIsBesideTheComment(page) {
  await pictureIsChanged(page, noah, shoot);
  await page.goto(`${base}/demo`);
  await article(page).getByRole('button', { name: /^Comments/ }).click();
  await pictureIsIn(dialog(page).locator('.comment', { hasText: 'Lovely colours!' }));
  await page.keyboard.press('Escape');
}

async function theyChat(a, b) {
  await article(b).getByRole('link', { name: mia.name }).click();
  await b.getByRole('heading', { name: mia.name }).waitFor();
  await b.getByRole('link', { name: 'Clips', exact: true }).click();
  await b.getByRole('link', { name: title }).waitFor();
  await checked(b, 'person');
  await b.getByRole('link', { name: 'Message' }).click();
  await b.getByText('This conversation is empty.').waitFor();
  await b.getByLabel(`Message to ${mia.name}`).fill('Hello! How did you make that clip?');
  await b.keyboard.press('Enter');
  await chats(a, 1);
  await view(a, 'Chats').click();
  await a.getByRole('link', { name: new RegExp(`^${noah.name}.*1 unread$`, 's') }).waitFor();
  await checked(a, 'chats');
  await a.getByRole('link', { name: new RegExp(`^${noah.name}`) }).click();
  await a.getByRole('log').getByText('How did you make that clip?').waitFor();
  await chats(a, 0);
  await a.getByLabel(`Message to ${noah.name}`).fill('Out of nothing but numbers');
  await a.getByRole('button', { name: 'Send', exact: true }).click();
  await b.getByRole('log').getByText('Out of nothing but numbers').waitFor();
  await chats(b, 0); // a message in view is marked as read
  await checked(a, 'chat');
  await checked(b, 'chat-wide');
}

// clipIsSent makes them friends, and has one send the clip to the other.
async function clipIsSent(a, b) {
  await view(a, 'Profile').click();
  await a.getByRole('link', { name: 'Followers' }).click();
  await a.getByRole('button', { name: `Follow ${noah.name}` }).click();
  await a.getByRole('button', { name: `Following ${noah.name}. Unfollow` }).waitFor();
  await checked(a, 'followers');
  const login = await loginOf(a);
  await until('they are friends', async () => {
    const { viewer } = await ask(login, '{ viewer { friends { edges { node { user { userId } } } } } }');
    return viewer.friends.edges.length === 1 || viewer;
  });
  await view(a, 'Feed').click();
  await article(a).getByRole('button', { name: 'Share' }).click();
  await checked(a, 'send');
  await dialog(a).getByRole('button', { name: new RegExp(noah.name) }).click();
  await dialog(a).getByRole('button', { name: new RegExp(`${noah.name}.*sent`, 's') }).waitFor();
  await a.keyboard.press('Escape');
  const sent = b.getByRole('log').getByRole('link', { name: title });
  await sent.waitFor();
  await checked(b, 'sent');
  await sent.click();
  await clipPlays(b);
}

// account covers what the owner of an account does with it, on two devices.
async function account(a, b) {
  await Promise.all([a.goto(`${base}/demo`), b.goto(`${base}/demo`)]);
  await logInEnds(a, mia, shoot);
  await logIn(a, mia);
  await profileIsSaved(a, mia, 'Numbers, mostly.');
  await checked(a, 'account');
  await a.keyboard.press('Escape');
  await logIn(b, noah);
  await view(b, 'Chats').click();
  await b.locator('.conversations').getByRole('link', { name: new RegExp(`^${mia.name}`) }).click();
  await b.getByRole('heading', { name: mia.name }).click();
  await b.getByText('Numbers, mostly.').waitFor();
  await tokenIsRenewed(b, noah);
  await sessionsEnd(a, b, mia, noah, shoot);
}

// chatOffline has a write while offline. The message arrives once.
async function chatOffline(a, b) {
  await Promise.all([a.goto(`${base}/demo`), b.goto(`${base}/demo`)]);
  await logIn(a, mia);
  await logIn(b, noah);
  for (const [page, other] of [[a, noah], [b, mia]]) {
    await view(page, 'Chats').click();
    await page.locator('.conversations').getByRole('link', { name: new RegExp(`^${other.name}`) }).click();
    await page.getByRole('log').getByText('Out of nothing but numbers').waitFor();
    await linkIs(page, 'Live');
  }
  await a.context().setOffline(true);
  await linkIs(a, 'Offline');
  await a.getByText('New messages appear when the connection is restored.').waitFor();
  const late = `while you were away ${stamp}`;
  await a.getByLabel(`Message to ${noah.name}`).fill(late);
  await a.keyboard.press('Enter');
  await a.locator('[data-pending]').getByText('Will send when you are back online.').waitFor();
  await b.getByLabel(`Message to ${mia.name}`).fill('Are you there?');
  await b.getByRole('button', { name: 'Send', exact: true }).click();
  await shoot(a, 'story-offline');
  await a.context().setOffline(false);
  await linkIs(a, 'Live');
  await a.getByRole('log').getByText('Are you there?').waitFor();
  await b.getByRole('log').getByText(late).waitFor();
  await a.locator('[data-pending]').waitFor({ state: 'detached' });
  for (const page of [a, b]) await until('it is there once', async () => (await page.getByRole('log').getByText(late).count()) === 1);
}

// offlineAgainAndAgain has one of the two go offline twelve times while both act: first in
// their chat, then at the clip. Nothing is lost, and nothing is done twice.
async function offlineAgainAndAgain(a, b) {
  await Promise.all([a.goto(`${base}/demo`), b.goto(`${base}/demo`)]);
  await logIn(a, mia);
  await logIn(b, noah);
  const [ofA, ofB] = [await loginOf(a), await loginOf(b)];
  await Promise.all([a.goto(`${base}/demo#/chats/${ofB.userId}`), b.goto(`${base}/demo#/chats/${ofA.userId}`)]);
  const alternately = async (act) => {
    for (let n = 0; n < 6; n++) {
      const [off, on] = n % 2 === 0 ? [a, b] : [b, a];
      await off.context().setOffline(true);
      await linkIs(off, 'Offline');
      await act(off, n, true);
      await act(on, n, false);
      await off.context().setOffline(false);
      await linkIs(off, 'Live');
    }
  };
  const nameOf = (page) => (page === a ? mia : noah).name;

  for (const page of [a, b]) await linkIs(page, 'Live');
  await alternately(async (page, n) => {
    await page.getByLabel(/^Message to /).fill(`Round ${n}, ${nameOf(page)}`);
    await page.keyboard.press('Enter');
  });
  const rounds = [0, 1, 2, 3, 4, 5];
  for (const page of [a, b]) {
    for (const { name } of [mia, noah]) {
      const texts = rounds.map((n) => `Round ${n}, ${name}`);
      await until('each message is there once, in the order of its author', async () => {
        const all = await page.getByRole('log').locator('.bubble').allInnerTexts();
        const shown = all.flatMap((text) => texts.filter((one) => text.includes(one)));
        return JSON.stringify(shown) === JSON.stringify(texts) || shown;
      });
    }
  }

  const { viewer } = await ask(ofA, '{ viewer { works(first: 1) { edges { node { bizId likeCount } } } } }');
  const [{ node: clipOf }] = viewer.works.edges;
  await Promise.all([a, b].map((page) => page.goto(`${base}/demo#/clips/${clipOf.bizId}`)));
  for (const page of [a, b]) await linkIs(page, 'Live');
  const liked = { [mia.name]: false, [noah.name]: true }; // since the story
  const like = (page) => article(page).getByRole('button', { name: /^Like, / });
  await alternately(async (page, n, offline) => {
    if (offline) {
      await like(page).click();
      liked[nameOf(page)] = !liked[nameOf(page)];
    }
    await article(page).getByRole('button', { name: /^Comments/ }).click();
    await drawer(page).getByLabel('Add a comment').fill(`Round ${n}, ${nameOf(page)}`);
    await page.keyboard.press('Enter');
    await drawer(page).locator('.comment-text', { hasText: `Round ${n}, ${nameOf(page)}` }).first().waitFor();
    await page.keyboard.press('Escape');
  });
  const likes = Object.values(liked).filter(Boolean).length;
  for (const page of [a, b]) {
    await until('the likes are as intended', async () => {
      const name = await like(page).getAttribute('aria-label');
      const pressed = await like(page).getAttribute('aria-pressed');
      return (name === `Like, ${likes} ${likes === 1 ? 'like' : 'likes'}` && pressed === String(liked[nameOf(page)])) || [name, pressed, likes, liked];
    });
    await article(page).getByRole('button', { name: /^Comments/ }).click();
    await until('each comment is there once', async () => {
      const all = await drawer(page).locator('.comment').allInnerTexts();
      const times = [mia, noah].flatMap(({ name }) => rounds.map((n) => all.filter((text) => text.includes(`Round ${n}, ${name}`)).length));
      return times.every((n) => n === 1) || times;
    });
    await page.keyboard.press('Escape');
  }
  const subject = { biz: 'video', bizId: clipOf.bizId };
  await until('the counts are as intended', async () => {
    const { interactive } = await ask(ofB, 'query ($biz: String!, $bizId: ID!) { interactive(biz: $biz, bizId: $bizId) { likeCount commentCount } }', subject);
    return (interactive.likeCount === likes && interactive.commentCount === 13) || interactive; // one comment is of the story
  });
}

// deleted has a delete the clip, which b has in a chat.
async function deleted(a, b) {
  await Promise.all([a.goto(`${base}/demo`), b.goto(`${base}/demo`)]);
  await logIn(a, mia);
  await logIn(b, noah);
  const { userId } = await loginOf(a);
  await a.goto(`${base}/demo#/people/${userId}/clips`);
  await a.getByRole('link', { name: title }).click();
  await article(a).getByRole('button', { name: 'Delete your clip' }).click();
  await checked(a, 'delete');
  await dialog(a).getByRole('button', { name: 'Delete it' }).click();
  await dialog(a).waitFor({ state: 'detached' });
  await until('it leaves the feed', async () => (await article(a).count()) === 0);
  await b.goto(`${base}/demo#/chats/${userId}`);
  await b.getByRole('log').getByRole('link', { name: 'A deleted clip' }).click();
  await b.getByText('This clip was deleted or never existed.').waitFor();
  await accountOf(b, noah);
}
