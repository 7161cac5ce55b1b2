// Checks the demo page of a running server in headless Chromium, as two users.
//
//   node check/demo.mjs BASE_URL OUT_DIR
//
// The server must have demo data. With `ovation dev --demo`, requests use the names of users
// made for this run; with any other server, the three tokens of OVATION_CHECK_TOKENS
// (separated by spaces). The page is also checked during a restart of the server, which is
// requested on standard output, see restart in browser.mjs. Screenshots go to OUT_DIR. Exits
// with 1 at the first fault.
import assert from 'node:assert/strict';
import { done, noSidewaysScroll, openBrowser, phone, restart, until } from './browser.mjs';
import {
  ada,
  answerWith,
  ask,
  base,
  ben,
  button,
  card,
  cleo,
  count,
  dark,
  isPressed,
  light,
  linkIs,
  open,
  out,
  record,
  refused,
  rules,
  subject,
  tokens,
  truth,
} from './demo-kit.mjs';
import { draftsAreKept, editsAreKept, focusStaysInTheDrawer, textTypedMeanwhileIsKept } from './demo-drawer.mjs';
import { actionsSurviveAReload, failures, noStorm, noticesCoverNothing } from './demo-failures.mjs';
import { foldersAreChanged, foldersByKeyboard } from './demo-folders.mjs';
import { commentsAreBeside, doubleTapLikes, enterSends, keysAct, linksAreShared, searchFinds } from './demo-habits.mjs';
import { chineseThroughout, othersReadEnglish } from './demo-language.mjs';
import { firstCardIsInView, labelsAlign, latestChatIsShown, tabsFit, waysLeadBack } from './demo-layout.mjs';
import { moreByKeyboard } from './demo-more.mjs';
import { cardsOpen, itemLooks, onlyLiveIsSaid, readsAreListed } from './demo-items.mjs';
import { logInFits, tokenIsRequested, viewerIsSwitched } from './demo-viewer.mjs';
import { mastheadFits } from './demo-widths.mjs';
import {
  commentsAreLive,
  hostileTextIsContained,
  nothingIsMissedOffline,
  peopleFollowEachOther,
  talkLooks,
  repeatedCommentIsAddedOnce,
  rejectedChangesAreRolledBack,
} from './demo-talk.mjs';

const gone = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INTERNET_DISCONNECTED|WebSocket connection|status of (429|50[23])/;

const { visit, shoot, close } = await openBrowser(base, out);
try {
  await visit('others see', [light, light], othersSee);
  await visit('clicks', light, rapidClicksEndAsIntended);
  await visit('folders', light, (page) => foldersByKeyboard(page, shoot));
  await visit('changed folders', light, (page) => foldersAreChanged(page, shoot));
  await visit('likes', light, likesInPages);
  await visit('reads', light, readsAreCountedOnce);
  await visit('listed reads', light, (page) => readsAreListed(page, shoot));
  await visit('cards', light, cardsOpen);
  await visit('late', light, lateResponsesNeverShow);
  await visit('comments', [light, light], (a, b) => commentsAreLive(a, b, shoot));
  await visit('more', light, moreByKeyboard);
  await visit('people', [light, light], (a, b) => peopleFollowEachOther(a, b, shoot));
  if (tokens) {
    await visit('token', light, (page) => tokenIsRequested(page, shoot), /status of 401/);
  } else {
    // Independent of how the server authenticates.
    await visit('somebody else', light, (page) => viewerIsSwitched(page, shoot));
    await visit('refusals', light, rejectionsAreRolledBack, gone);
    await visit('unconfirmed', light, unconfirmedActionsAreRefetched);
    await visit('doubts', light, staleCountsAreMarked);
    await visit('live', light, (page) => onlyLiveIsSaid(page, shoot));
    await visit('offline', light, offlineIsReported, gone);
    for (const [way, socket] of failures) await visit(`${way}, socket ${socket}`, light, (page) => noStorm(page, way, socket), gone);
    for (const size of [light, { ...phone, colorScheme: 'light' }]) await visit('notices', size, (page) => noticesCoverNothing(page, shoot));
    await visit('kept', light, actionsSurviveAReload, gone);
    await visit('comments offline', light, nothingIsMissedOffline, gone);
    await visit('comments unconfirmed', light, (page) => repeatedCommentIsAddedOnce(page, shoot));
    await visit('comments refused', light, rejectedChangesAreRolledBack);
    await visit('drafts', light, draftsAreKept);
    await visit('written meanwhile', light, textTypedMeanwhileIsKept);
    await visit('edits', light, editsAreKept);
    await visit('focus in the drawer', light, focusStaysInTheDrawer);
    await visit('light', light, (page) => looks(page, 'light'));
    await visit('dark', dark, (page) => looks(page, 'dark'));
    await visit('phone', { ...phone, colorScheme: 'light' }, (page) => looks(page, 'phone'));
    await visit('double tap', light, (page) => doubleTapLikes(page, shoot));
    await visit('keys', light, (page) => keysAct(page, shoot));
    await visit('beside', light, (page) => commentsAreBeside(page, shoot));
    await visit('share', { ...light, permissions: ['clipboard-read', 'clipboard-write'] }, (page) => linksAreShared(page, shoot));
    await visit('enter', light, enterSends);
    for (const size of [light, { ...phone, colorScheme: 'dark' }]) await visit('search', size, (page) => searchFinds(page, shoot));
    await visit('labels', light, labelsAlign);
    await visit('first card', { ...light, viewport: { width: 1280, height: 800 } }, firstCardIsInView);
    await visit('first card on a phone', phone, firstCardIsInView);
    await visit('tabs', phone, tabsFit);
    await visit('latest chat', light, (page) => latestChatIsShown(page, shoot));
    await visit('ways back', light, waysLeadBack);
    await visit('log in', { ...light, viewport: { width: 1280, height: 800 } }, (page) => logInFits(page, 'desktop', shoot));
    await visit('log in on a phone', { ...phone, colorScheme: 'dark' }, (page) => logInFits(page, 'phone', shoot));
    await visit('widths', [light, light], mastheadFits);
    await visit('other languages', { ...light, locale: 'fr-FR' }, othersReadEnglish);
    const chinese = [{ ...light, viewport: { width: 1280, height: 800 } }, { ...phone, colorScheme: 'light' }].map((size) => ({ ...size, locale: 'zh-CN' }));
    await visit('Chinese', chinese, (desktop, phone) => chineseThroughout({ desktop, phone }, shoot));
    await visit('long', { ...phone, colorScheme: 'dark' }, longNamesFit);
    await visit('hostile', { ...phone, colorScheme: 'light' }, (page) => hostileTextIsContained(page, shoot));
  }
  await visit('restart', [light, light], restartIsSurvived, gone);
  console.log(`ok: screenshots are in ${out}`);
} finally {
  await close();
  done();
}

async function othersSee(a, b) {
  await Promise.all([open(a, ada), open(b, ben)]);
  const before = await count(b);
  const [seenByA, seenByB] = [await record(a), await record(b)];
  await button(a, 'Like').click();
  await until('the other sees the like', async () => (await count(b)) === before + 1 || (await count(b)));
  await until('it is counted', async () => (await truth(ben)).likeCount === before + 1);
  assert.equal(await isPressed(b), false);
  assert.deepEqual(await seenByA.jsonValue(), [`${before} false`, `${before + 1} true`], 'the guess is the truth');
  assert.deepEqual(await seenByB.jsonValue(), [`${before} false`, `${before + 1} false`]);
  await shoot(b, 'others-see');

  await Promise.all([a.reload(), b.reload()]);
  await Promise.all([linkIs(a, 'Live'), linkIs(b, 'Live')]);
  await until('a reload keeps it', async () => ((await count(a)) === before + 1 && (await isPressed(a)) && (await count(b)) === before + 1) || [await count(a), await count(b)]);

  const [again, other] = [await record(a), await record(b)];
  await button(a, 'Like').click();
  await until('the other sees it taken back', async () => (await count(b)) === before || (await count(b)));
  await button(b, 'Like').click();
  await until('both see the other like', async () => (await count(a)) === before + 1 || (await count(a)));
  assert.deepEqual(await again.jsonValue(), [`${before + 1} true`, `${before} false`, `${before + 1} false`]);
  assert.deepEqual(await other.jsonValue(), [`${before + 1} false`, `${before} false`, `${before + 1} true`]);
  await button(b, 'Like').click();
  await until('it is as before', async () => (await truth(ada)).likeCount === before);
}

async function rapidClicksEndAsIntended(page) {
  await open(page, ada);
  const before = await count(page);
  const seen = await record(page);
  for (let n = 0; n < 7; n++) await button(page, 'Like').click();
  await until('the seventh click holds', async () => {
    const { likeCount, liked } = await truth(ada);
    return (likeCount === before + 1 && liked?.reaction === 'LIKE') || { likeCount, liked };
  });
  const states = [];
  for (let n = 0; n < 8; n++) states.push(n % 2 ? `${before + 1} true` : `${before} false`);
  assert.deepEqual(await seen.jsonValue(), states, 'each click shows once, and nothing flickers back');

  await button(page, 'Dislike').click();
  await until('a dislike takes its place', async () => (await truth(ada)).liked?.reaction === 'DISLIKE');
  assert.equal(await isPressed(page), false);
  assert.equal(await count(page), before);
  await button(page, 'Dislike').click();
  await until('nothing is left', async () => (await truth(ada)).liked === null);
}

async function likesInPages(page) {
  await open(page, ada);
  for (let more = 0; more < 2; more++) {
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.getByRole('region', { name: `Page ${more + 2}` }).getByRole('button', { name: /^Like, / }).first().waitFor();
  }
  const buttons = page.getByRole('article').getByRole('button', { name: /^Like, / });
  const likes = 23;
  for (let n = 0; n < likes; n++) await buttons.nth(n).click();
  const stored = async () => {
    const { viewer } = await ask(ada, '{ viewer { likes(first: 100) { edges { node { interactive { biz bizId } } } } } }');
    return viewer.likes.edges.map(({ node: { interactive } }) => `${interactive.biz}/${interactive.bizId}`);
  };
  await until('all likes are stored', async () => (await stored()).length === likes || (await stored()).length);

  await page.getByRole('navigation').getByRole('link', { name: 'Likes' }).click();
  await page.getByRole('heading', { name: 'Your likes' }).waitFor();
  await until('all likes are listed', async () => {
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    return (await page.getByRole('article').count()) === likes || (await page.getByRole('article').count());
  });
  const listed = await page.getByRole('article').evaluateAll((cards) => cards.map((one) => one.dataset.subject));
  assert.deepEqual(listed, await stored(), 'newest first, each once');
  const pressed = page.getByRole('article').getByRole('button', { name: /^Like, /, pressed: true });
  while ((await pressed.count()) > 0) await pressed.first().click();
  await until('all are taken back', async () => (await stored()).length === 0);
  await page.reload();
  await page.getByText('Nothing yet.').waitFor();
}

async function readsAreCountedOnce(page) {
  const sent = [];
  page.on('request', (request) => {
    const { operationName, variables } = request.postDataJSON() ?? {};
    if (operationName === 'Read') sent.push(`${variables.input.biz}/${variables.input.bizId}`);
  });
  await open(page, cleo);
  await until('the read is counted', async () => (await truth(cleo)).read?.times === 1);
  const reads = async () => (await card(page).locator('.card-reads').innerText()).match(/([\d,]+) reads/)?.[1];
  await until('it shows', async () => (await reads()) === (await truth(cleo)).readCount.toLocaleString('en') || (await reads()));
  // Scrolling out of view and back is the same read.
  for (const place of [10, 0, 19, 0]) {
    const before = sent.length;
    await page.getByRole('article').nth(place).scrollIntoViewIfNeeded();
    if (place > 0) await until('what came into view is read', async () => sent.length > before);
  }
  assert.equal(new Set(sent).size, sent.length, `something was read twice: ${sent}`);
  assert.equal((await truth(cleo)).read.times, 1);
  await until('the list has all reads', async () => {
    const { viewer } = await ask(cleo, '{ viewer { reads(first: 100) { edges { node { interactive { biz bizId } } } } } }');
    const listed = viewer.reads.edges.map(({ node }) => `${node.interactive.biz}/${node.interactive.bizId}`);
    return sent.every((one) => listed.includes(one)) || listed;
  });
}

async function rejectionsAreRolledBack(page) {
  await open(page, ada);
  const before = await count(page);
  const seen = await record(page);
  let asked = 0;
  await answerWith(page, 'Like', (route) => (asked++ === 0 ? route.fulfill(refused('RATE_LIMITED')) : route.fallback()));
  await button(page, 'Like').click();
  const notices = page.getByRole('region', { name: 'Notices' });
  await notices.getByText('Could not like').hover(); // so that it stays
  await notices.getByText('Too many requests.').waitFor();
  await until('the like is taken back', async () => !(await isPressed(page)));
  assert.equal(await count(page), before);
  await shoot(page, 'refusal');
  await notices.getByRole('button', { name: 'Try again' }).click();
  await until('the second try holds', async () => (await truth(ada)).liked?.reaction === 'LIKE');
  assert.deepEqual(await seen.jsonValue(), [`${before} false`, `${before + 1} true`, `${before} false`, `${before + 1} true`]);
  await button(page, 'Like').click();
  await until('it is as before', async () => (await truth(ada)).liked === null);
}

// unconfirmedActionsAreRefetched makes the server execute a like and respond with UNAVAILABLE.
async function unconfirmedActionsAreRefetched(page) {
  await open(page, ada);
  const before = await count(page);
  const seen = await record(page);
  let readAgain = 0;
  await answerWith(page, 'Like', async (route) => {
    await route.fetch();
    // The page learns about the like only from its own query.
    await answerWith(page, 'Subject', (question) => {
      readAgain++;
      return question.fallback();
    });
    return route.fulfill(refused('UNAVAILABLE'));
  });
  await button(page, 'Like').click();
  const notices = page.getByRole('region', { name: 'Notices' });
  await notices.getByText(/Tried to like .*It may have been done all the same/).hover(); // so that it stays
  assert.equal(await page.getByText('Nothing was changed').count(), 0);
  await until('it is read again', () => readAgain > 0);
  await until('what was done shows', async () => (await isPressed(page)) && (await count(page)) === before + 1);
  assert.equal((await seen.jsonValue()).at(-1), `${before + 1} true`);
  await shoot(page, 'unconfirmed');
  await page.unroute('**/graphql');
  await button(page, 'Like').click();
  await until('it is as before', async () => (await truth(ada)).liked === null);
}

async function staleCountsAreMarked(page) {
  let doubtful = true;
  await answerWith(page, 'Feed', async (route) => {
    if (!doubtful) return route.fallback();
    const response = await route.fetch();
    const json = await response.json();
    Object.assign(json.data.interactives[1], { freshness: 'STALE' });
    Object.assign(json.data.interactives[2], { freshness: 'UNAVAILABLE', version: 0, readCount: 0, likeCount: 0, dislikeCount: 0, collectCount: 0 });
    return route.fulfill({ response, json });
  });
  // The subscription would correct it at once.
  await page.routeWebSocket('**/graphql', () => {});
  await page.goto(`${base}/demo#${ada.token ? `token=${ada.token}` : `user=${ada.id}`}`);
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Browse' }).click();
  await page.getByText('Some counts are currently unavailable').waitFor();
  await page.getByText('Possibly outdated').waitFor();
  assert.equal(await page.getByRole('article').nth(2).getByRole('button', { name: 'Like', exact: true }).count(), 1, 'zeros in place of the unknown are not shown');
  await page.locator('.tally').getByText('unavailable').first().waitFor();
  await shoot(page, 'doubts');
  doubtful = false;
}

// lateResponsesNeverShow delays a response and an event until newer ones have been shown.
async function lateResponsesNeverShow(page) {
  const held = [];
  let hold = false;
  await page.routeWebSocket('**/graphql', (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      if (hold && String(message).includes('"next"')) held.push(() => socket.send(message));
      else socket.send(message);
    });
  });
  const times = (await truth(ada)).read.times;
  await open(page, ada);
  await until('its own read is told', async () => (await truth(ada)).read.times > times);
  const before = await count(page);
  const seen = await record(page);

  // Events about others arrive late: after the page has acted and queried the subject itself.
  hold = true;
  await act(ben, 'like');
  await until('the event is held', async () => held.length > 0);
  await button(page, 'Like').click();
  await until('the page knows better', async () => (await count(page)) === before + 2 || (await count(page)));
  for (const send of held.splice(0)) send();
  hold = false;
  await act(ben, 'unlike');
  await until('the next event shows', async () => (await count(page)) === before + 1 || (await count(page)));
  const states = await seen.jsonValue();
  assert.deepEqual(states.filter((state) => state.endsWith('false')), [`${before} false`], 'the own like never flickers');
  await button(page, 'Like').click();
  await until('it is as before', async () => (await truth(ada)).likeCount === before);
}

async function act(person, what) {
  const data = await ask(person, `mutation { ${what}(input: {biz: "${subject.biz}", bizId: "${subject.bizId}"}) { changed } }`);
  assert.equal(data[what].changed, true);
}

// looks takes screenshots and checks each view against axe's rules.
async function looks(page, name) {
  await open(page, ada);
  await rules(page);
  await noSidewaysScroll(page);
  await shoot(page, name);
  await page.reload();
  await card(page).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await button(page, 'Collect').click();
  await page.getByRole('dialog').getByRole('button', { name: /^Default/ }).waitFor();
  await rules(page);
  await shoot(page, `${name}-picker`);
  await page.keyboard.press('Escape');
  await page.goto(`${base}/demo#/folders`);
  await page.locator('.folders-shelf, .empty').first().waitFor();
  await rules(page);
  await noSidewaysScroll(page);
  await shoot(page, `${name}-folders`);
  await talkLooks(page, name, shoot);
  await itemLooks(page, name, shoot);
}

// longNamesFit shows the longest possible names.
async function longNamesFit(page) {
  const long = { id: `${Date.now()}`.padEnd(128, 'm') };
  const { createFolder } = await ask(long, 'mutation ($input: CreateFolderInput!) { createFolder(input: $input) { folder { id } } }', {
    input: { name: 'W'.repeat(100), description: 'M'.repeat(1000), public: true },
  });
  const what = { biz: 'w'.repeat(32), bizId: 'W'.repeat(128) };
  await ask(long, 'mutation ($like: LikeInput!, $collect: CollectInput!) { like(input: $like) { changed } collect(input: $collect) { changed } }', {
    like: what,
    collect: { ...what, folderId: createFolder.folder.id },
  });
  await open(page, long, 'Likes');
  await noSidewaysScroll(page);
  await shoot(page, 'long-likes');
  await page.getByRole('article').getByRole('button', { name: /^Collect/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: /^WWW/ }).waitFor();
  await noSidewaysScroll(page);
  await shoot(page, 'long-picker');
  await page.keyboard.press('Escape');
  await page.goto(`${base}/demo#/folders`);
  await page.getByRole('link', { name: /^WWW/ }).waitFor();
  await noSidewaysScroll(page);
  await shoot(page, 'long-folders');
  await page.getByRole('link', { name: /^WWW/ }).click();
  await page.getByRole('article').first().waitFor();
  await noSidewaysScroll(page);
  await rules(page);
  await shoot(page, 'long-folder');
}

async function offlineIsReported(page) {
  await open(page, ada);
  const before = await count(page);
  await page.context().setOffline(true);
  await linkIs(page, 'Offline');
  await button(page, 'Like').click();
  const notices = page.getByRole('region', { name: 'Notices' });
  await notices.getByText('Will send when you are back online.').hover(); // so that it stays
  assert.deepEqual([await count(page), await isPressed(page)], [before + 1, true], 'it shows');
  for (let n = 0; n < 10; n++) await button(page, 'Like').click();
  await shoot(page, 'offline');
  await page.context().setOffline(false);
  await until('it is liked', async () => (await truth(ada)).liked !== null);
  await linkIs(page, 'Live');
  await until('it shows once', async () => (await count(page)) === before + 1 && (await isPressed(page)));
  await button(page, 'Like').click();
  await until('and no more', async () => (await truth(ada)).liked === null);
}

async function restartIsSurvived(a, b) {
  await Promise.all([open(a, ada), open(b, ben)]);
  const before = await count(b);
  await restart(async () => {
    await linkIs(b, 'Reconnecting');
    await shoot(b, 'reconnecting');
  });
  await Promise.all([linkIs(a, 'Live'), linkIs(b, 'Live')]);
  await button(a, 'Like').click();
  await until('the other sees it', async () => (await count(b)) === before + 1 || (await count(b)));
  await button(a, 'Like').click();
  await until('and taken back', async () => (await count(b)) === before || (await count(b)));
}
