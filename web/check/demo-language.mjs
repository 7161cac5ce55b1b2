// The part of the check of the demo page that covers the language of the browser.
import assert from 'node:assert/strict';
import { noSidewaysScroll, until } from './browser.mjs';
import { answerWith, ask, atRest, base, refused, rules, subject } from './demo-kit.mjs';

// The users of this part, which act and write in it only.
const [reader, writer] = ['dora', 'emil'].map((name) => ({ id: `${name}-${Date.now()}` }));

const loaded = (page) => page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((name) => /^\/assets\/zh-.*\.js$/.test(name)));

// othersReadEnglish checks a browser whose language the page does not have.
export async function othersReadEnglish(page) {
  await page.goto(`${base}/demo#user=${reader.id}`);
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
  assert.deepEqual(await loaded(page), [], 'a language is loaded that is not used');
}

// chineseThroughout walks through the views of the page with Chinese browsers of several
// sizes at the same time. It fails if a text of the interface has a word in Latin letters, or
// if a label is cut or broken.
export async function chineseThroughout(pages, shoot) {
  const names = await furnish();
  await Promise.all(Object.entries(pages).map(([size, page]) => walk(page, size, names, shoot)));
}

const mutation = (field) => `mutation ($input: ${field[0].toUpperCase()}${field.slice(1)}Input!) { ${field}(input: $input) { __typename } }`;

// furnish makes what the views show, and returns the names in it.
async function furnish() {
  const names = ['Rain days', 'A word with you', 'Hello there'];
  const [name, text, message] = names;
  const { createFolder } = await ask(reader, 'mutation ($input: CreateFolderInput!) { createFolder(input: $input) { folder { id } } }', { input: { name: `${name} ${Date.now()}`, public: true } });
  await ask(reader, mutation('collect'), { input: { ...subject, folderId: createFolder.folder.id } });
  await ask(reader, mutation('collect'), { input: { biz: 'article', bizId: '2' } }); // into the default folder
  await ask(reader, mutation('like'), { input: { biz: 'article', bizId: '2' } });
  await ask(writer, mutation('addComment'), { input: { ...subject, text } });
  await ask(reader, mutation('follow'), { input: { biz: 'user', bizId: writer.id } });
  await ask(writer, mutation('follow'), { input: { biz: 'user', bizId: reader.id } });
  await ask(writer, mutation('sendMessage'), { input: { to: reader.id, text: message, requestId: crypto.randomUUID() } });
  return [name, reader.id, writer.id, 'bob']; // Browse names bob, as whom another window can act
}

async function walk(page, size, names, shoot) {
  const dialog = page.locator('dialog[open]').last();
  const look = async (what) => {
    await atRest(page);
    await until(`${what} is Chinese`, async () => {
      const { words, labels } = await page.evaluate(faults, names);
      return (words.length === 0 && labels.length === 0) || { words, labels };
    });
    await noSidewaysScroll(page);
    await shoot(page, `chinese-${size}-${what}`);
  };
  const opens = async (what, button, then) => {
    await button.click();
    await dialog.waitFor();
    await then?.();
    await look(what);
    await dialog.locator('.dialog-head .plain').click();
    await dialog.waitFor({ state: 'detached' });
  };
  const go = async (what, hash, ready) => {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.locator(ready).first().waitFor();
    await look(what);
  };

  await page.goto(`${base}/demo#user=${reader.id}`);
  const clip = page.locator('.clips > .clip').first();
  await clip.waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-Hans');
  assert.equal((await loaded(page)).length, 1);
  const [word] = (await clip.locator('.clip-title').innerText()).split(' ');
  await look('feed');
  await rules(page);
  await opens('comments', clip.locator('.talk'), () => dialog.locator('.comment, .thread-empty').first().waitFor());
  await opens('share', clip.locator('.share'), () => dialog.locator('.people button').first().waitFor());
  await opens('picker', clip.locator('.collect'), () => dialog.locator('.choice').first().waitFor());
  await opens('upload', page.locator('.upload-button'));
  await page.locator('.menu > button').click();
  await page.locator('.menu-items').waitFor();
  await look('menu');
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await dialog.waitFor();
  await look('keys');
  await page.keyboard.press('Escape');
  await go('missing-clip', '#/clips/999999999999', '.clip-step');

  await go('browse', '#/browse', '.card .action.like:not([disabled])');
  await rules(page);
  await opens('item', page.locator(`[data-subject="${subject.biz}/${subject.bizId}"] .card-open`), () => dialog.locator('.comment').first().waitFor());
  await answerWith(page, 'Dislike', (route) => route.fulfill(refused('INTERNAL')));
  await page.locator('.card .action.dislike').first().click();
  await page.locator('.notice').waitFor();
  await look('notice');

  await go('search', `#/search/${encodeURIComponent(word)}`, '.cover-link');
  await go('nothing-found', '#/search/qqqqqqqqqq', '.found-none');
  await go('chats', '#/chats', '.conversation-at');
  await go('chat', `#/chats/${writer.id}`, '.bubble-at');
  await go('new-chat', '#/chats/alice', '.chat-empty');
  await go('likes', '#/likes', '.card .action.like:not([disabled])');
  await go('folders', '#/folders', '.shelf');
  assert.equal(await page.locator('.shelf-name', { hasText: '默认收藏夹' }).count(), 1);
  await page.locator('.shelf', { hasText: names[0] }).click();
  await page.locator('.folder-actions').waitFor();
  await look('folder');
  const [edit, , remove] = await page.locator('.folder-actions button').all();
  await opens('edit-folder', edit);
  await opens('delete-folder', remove, () => dialog.locator('.choice').nth(1).waitFor());
  await go('missing-folder', '#/folders/none', '.empty');
  const filled = '.row-pages :is(.empty, .card, .shelf, .person-row, .cover-link)';
  for (const section of ['clips', 'likes', 'folders', 'reads', 'friends', 'following', 'followers']) {
    for (const [whose, id] of [['own', reader.id], ['other', 'alice']]) {
      const hash = `#/people/${id}/${section}`;
      const shown = whose === 'other' && section === 'reads' ? `[href="#/people/${id}/clips"]` : `[aria-current=page][href="${hash}"]`; // reads are one's own
      const opened = `main:has(.sections a${shown}) `;
      await go(`${whose}-${section}`, hash, opened + filled);
    }
  }
  await logsIn(page, size, dialog, look);
}

// logsIn acts as somebody else, and registers and opens an account.
async function logsIn(page, size, dialog, look) {
  await page.locator('.menu > button').click();
  await page.locator('.menu-items button').first().click();
  await dialog.waitFor();
  await look('act-as');
  await dialog.locator('.dialog-foot button').last().click();
  await dialog.locator('.account-form').waitFor();
  await look('log-in');
  await dialog.locator('.account-form .link').click();
  await dialog.locator('[name=username]').fill(`${Date.now()}`.padStart(20, size === 'phone' ? '7' : '8'));
  await dialog.locator('[name=password]').fill('short');
  await dialog.locator('.button.strong').click();
  await dialog.locator('.problem').waitFor();
  await look('register');
  await dialog.locator('[name=password]').fill('long enough');
  await dialog.locator('.button.strong').click();
  await dialog.waitFor({ state: 'detached' });
  await page.locator('.viewer-link[href]').click();
  await page.locator('main [aria-haspopup=dialog]').first().click();
  for (const part of ['profile', 'password']) {
    await dialog.locator('.account-toggle').nth(part === 'profile' ? 0 : 1).click();
    await dialog.locator('.account-part form').waitFor();
    await look(`account-${part}`);
  }
}

// faults runs in the page. It returns the words in Latin letters that are part of the
// interface, and the labels that are cut or broken into lines.
function faults(names) {
  const content =
    '[dir=auto]:not(textarea, input), .card-title, .clip-title, .picker-what, .cover-title, .sheet-item h2, .person-name, .conversation-name, .comment-head > a, .shelf-name, .choice-name, .intro.profile :is(h1, p), [data-view=folder] .intro :is(h1, p), .viewer-name, .read-title, .dialog[data-shape=sheet] h2, .people button, .brand, code';
  const kept = /\b(Ovation|GraphiQL|MP4|WebM|QuickTime|kB|MB|Shift|Esc)\b/g;
  const shown = (element) => element.checkVisibility({ visibilityProperty: true });
  const known = [...document.querySelectorAll(content)]
    .map((one) => one.textContent.trim())
    .concat(names)
    .filter((text) => text.length > 1 && !/\p{Script=Han}/u.test(text))
    .sort((a, b) => b.length - a.length);
  const words = new Set();
  const read = (text, where) => {
    const rest = known.reduce((left, one) => left.replaceAll(one, ''), text).replaceAll(kept, '');
    if (/[a-z]{2,}/i.test(rest)) words.add(`${where}: ${text}`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { parentElement: element, data } = texts.currentNode;
    const own = element.closest(content);
    if (element.closest('.profile-signature')) continue; // may be in both languages
    if (!element.closest('script, style, noscript') && shown(element) && !(own && !/\p{Script=Han}/u.test(own.textContent))) read(data, element.className || element.localName);
  }
  for (const name of ['aria-label', 'title', 'placeholder', 'alt']) {
    for (const element of document.querySelectorAll(`[${name}]`)) if (shown(element)) read(element.getAttribute(name), name);
  }
  read(document.title, 'title');

  const labels = [];
  for (const element of document.querySelectorAll('.button, .tab, .follow, .action, .comment-more, .card-badge, .badge, .link-label, .account-toggle, .menu-items > *, .tally dt, .orders label, .dialog h2')) {
    if (!shown(element) || element.matches(content)) continue;
    const range = document.createRange();
    range.selectNodeContents(element);
    const lines = [];
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement: inner } = walker.currentNode;
      if (inner.closest('.number, .tab-mark') || inner.offsetWidth <= 1) continue; // for screen readers only
      range.selectNodeContents(walker.currentNode);
      lines.push(...[...range.getClientRects()].filter(({ width }) => width > 0));
    }
    const broken = lines.some(({ top, height }) => Math.abs(top - lines[0].top) > height / 2);
    const cut = getComputedStyle(element).overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1;
    if (broken || cut) labels.push(`${broken ? 'broken' : 'cut'}: ${element.innerText}`);
  }
  return { words: [...words], labels };
}
