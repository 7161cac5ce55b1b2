// Takes the pictures of README.md from a running `ovation dev --demo` with fresh data:
//
//   node check/pictures.mjs BASE_URL OUT_DIR
//
// graphiql.png is the tab Feed, run as alice. The others are alice's views: the feed, on a
// desktop and on a phone, and a chat.
import { done, openBrowser, phone, until } from './browser.mjs';
import { atRest, base, light, out } from './demo-kit.mjs';

const { visit, shoot, close } = await openBrowser(base, out);
try {
  await visit('GraphiQL', light, graphiql);
  await visit('demo', { ...light, reducedMotion: 'reduce' }, (page) => feed(page, 'demo'));
  await visit('phone', { ...phone, colorScheme: 'light', reducedMotion: 'reduce' }, (page) => feed(page, 'demo-phone'));
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

async function chat(page) {
  await page.goto(`${base}/demo#user=alice`);
  await page.getByRole('article').first().waitFor();
  await page.goto(`${base}/demo#/chats/bob`);
  await page.getByRole('log').locator('.bubble-clip img').evaluate((image) => image.decode());
  await atRest(page);
  await shoot(page, 'demo-chat');
}
