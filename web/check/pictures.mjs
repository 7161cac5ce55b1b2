// Takes the pictures of README.md from a running `ovation dev --demo` with fresh data:
//
//   node check/pictures.mjs BASE_URL OUT_DIR
//
// graphiql.png is the tab Feed, run as alice. The others are alice's views: the feed, on a
// desktop and on a phone, and a chat. OUT_DIR/frames has the pictures of two phones, of
// alice and of bob, while each likes the clip that both see.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { done, openBrowser, phone, until } from './browser.mjs';
import { ask, atRest, base, light, out } from './demo-kit.mjs';

// The clips are rendered after the server has started.
const newest = '#sunset';
await until('the demo has all clips', async () => {
  const { feed } = await ask({ id: 'alice' }, '{ feed(first: 1) { edges { node { title } } } }');
  return feed.edges[0]?.node.title.endsWith(newest) || feed;
});

const { visit, shoot, close } = await openBrowser(base, out);
try {
  await visit('GraphiQL', light, graphiql);
  await visit('demo', { ...light, reducedMotion: 'reduce' }, (page) => feed(page, 'demo'));
  await visit('phone', { ...phone, colorScheme: 'light', reducedMotion: 'reduce' }, (page) => feed(page, 'demo-phone'));
  const small = { ...phone, deviceScaleFactor: 1, colorScheme: 'dark' };
  await visit('phones', [small, small], phones);
  await visit('chat', { ...phone, colorScheme: 'dark', reducedMotion: 'reduce' }, chat);
} finally {
  await close();
  done();
}

async function graphiql(page) {
  await page.goto(`${base}/?user=alice`);
  await page.locator('.graphiql-tabs button[title="Feed"]').click();
  await page.waitForFunction(() => {
    const editor = document.querySelector('.graphiql-query-editor .CodeMirror')?.CodeMirror;
    return editor?.operations?.[0]?.name?.value === 'Feed';
  });
  await page.getByRole('button', { name: 'Execute query (Ctrl-Enter)' }).click();
  await page.waitForFunction(() => {
    const value = document.querySelector('.graphiql-response .CodeMirror')?.CodeMirror.getValue();
    return value?.includes('"interactives"');
  });
  await shoot(page, 'graphiql');
}

// feed shows the newest clip, whose cover may not be ready yet.
async function feed(page, name) {
  await page.goto(`${base}/demo#user=alice`);
  const clip = page.getByRole('article').first();
  await clip.getByRole('button', { name: /^Like, \d/ }).waitFor();
  await until('the clip has its cover', async () => {
    if ((await clip.locator('.clip-cover[src*="/covers/"]').count()) === 1) return true;
    await page.reload();
    return clip.locator('.clip-cover').getAttribute('src');
  });
  await clip.locator('.clip-cover').evaluate((image) => image.decode());
  await clip.locator('.clip-backdrop').evaluate((image) => image.decode());
  await atRest(page);
  await shoot(page, name);
}

// phones records the pages of alice and bob, eight pictures a second.
async function phones(...pages) {
  const folder = join(out, 'frames');
  mkdirSync(folder, { recursive: true });
  await Promise.all(
    pages.map(async (page, n) => {
      await page.goto(`${base}/demo#user=${['alice', 'bob'][n]}`);
      const clip = page.getByRole('article').first();
      await clip.getByRole('button', { name: /^Like, \d/ }).waitFor();
      await clip.locator('.clip-cover').evaluate((image) => image.decode());
      await atRest(page);
    }),
  );
  let taken = 0;
  const record = async (frames) => {
    for (const end = taken + frames; taken < end; taken++) {
      const next = new Promise((resolve) => setTimeout(resolve, 125));
      const name = String(taken).padStart(3, '0');
      await Promise.all(pages.map((page, n) => page.screenshot({ path: join(folder, `${n}-${name}.png`) })));
      await next;
    }
  };
  const [alice, bob] = pages.map((page) => page.getByRole('article').first());
  const press = (clip, what) => clip.getByRole('button', { name: new RegExp(`^${what}, \\d`) }).tap();
  await record(8);
  await press(bob, 'Like');
  await record(14);
  await press(alice, 'Like');
  await record(14);
}

async function chat(page) {
  await page.goto(`${base}/demo#user=alice`);
  await page.getByRole('article').first().waitFor();
  await page.goto(`${base}/demo#/chats/bob`);
  await page.getByRole('log').locator('.bubble-clip img').evaluate((image) => image.decode());
  await atRest(page);
  await shoot(page, 'demo-chat');
}
