// What the checks in a browser share.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import { exitWithFaults, note } from './fault.mjs';

exitWithFaults();

export const desktop = { viewport: { width: 1440, height: 900 } };
export const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

// Patience is how long anything may take, in milliseconds.
export const patience = 30_000;

// openBrowser returns a browser whose visits leave screenshots in a folder. Of
// the page under base it may ask for anything, of others nothing. CHROMIUM
// names the program, /usr/bin/chromium if unset; flags are further ones of it.
export async function openBrowser(base, out, flags = []) {
  mkdirSync(out, { recursive: true });
  const origin = new URL(base).origin;
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...flags,
    ],
  });

  // newPage opens a page in a profile of its own, and gathers its faults:
  // what it logs as an error, throws, or asks of another origin.
  async function newPage(options) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    const faults = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(`console ${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => faults.push(`exception: ${error.stack}`));
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.origin !== origin && url.protocol !== 'data:') faults.push(`request to ${url.href}`);
    });
    page.on('websocket', (socket) => {
      if (new URL(socket.url()).host !== new URL(base).host) faults.push(`socket to ${socket.url()}`);
    });
    page.on('requestfailed', (request) => {
      const { errorText } = request.failure();
      // A view that is left wants no answer any more.
      if (errorText !== 'net::ERR_ABORTED') faults.push(`failed: ${request.url()} ${errorText}`);
    });
    return { context, page, faults };
  }

  // visit runs a check with a page for each of the options, and fails if one of
  // them has faults, but for those that are expected. With ONLY, a regular
  // expression, it leaves out those of other names.
  async function visit(name, options, check, expected) {
    if (!new RegExp(process.env.ONLY ?? '').test(name)) return;
    const opened = await Promise.all([options].flat().map(newPage));
    const unexpected = ({ faults }) => faults.filter((fault) => !expected?.test(fault));
    try {
      await check(...opened.map(({ page }) => page));
      assert.deepEqual(opened.flatMap(unexpected), [], 'the page has faults');
    } catch (error) {
      await Promise.all(opened.map(({ page }, n) => page.screenshot({ path: join(out, `${name}-fault-${n}.png`) }).catch(() => {})));
      note(
        error,
        name,
        opened.map((one) => ({ url: one.page.url(), faults: unexpected(one) })),
      );
      throw error;
    }
    await Promise.all(opened.map(({ context }) => context.close()));
    console.log(`ok: ${name}`);
  }

  const shoot = (page, name, more) => page.screenshot({ path: join(out, `${name}.png`), ...more });
  return { visit, shoot, close: () => browser.close() };
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// restart has whoever started the check, and the server, restart the server.
// They are asked by a line, and answer with one when the server is down and one
// when it is up again.
export async function restart(whileDown) {
  console.log('restart the server');
  await lines.next();
  await whileDown();
  console.log('start it again');
  await lines.next();
}

// done lets the process end, which listens to whoever started it.
export function done() {
  process.stdin.unref?.();
  process.stdin.destroy();
}

// until waits for something to hold.
export async function until(what, holds) {
  const end = Date.now() + patience;
  for (;;) {
    const last = await holds();
    if (last === true) return;
    if (Date.now() > end) assert.fail(`${what}: ${JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function noSidewaysScroll(page) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(over <= 0, `the page is ${over} pixels wider than the screen`);
}
