// Shared by the checks in a browser.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import { exitWithFaults, note } from './fault.mjs';

exitWithFaults();

export const desktop = { viewport: { width: 1440, height: 900 } };
export const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

// patience is how long anything may take, in milliseconds. A wait ends as soon as its
// condition holds.
export const patience = 120_000;

// openBrowser returns a browser that writes the screenshots of its visits to a folder. The
// page under base may send requests to its own origin only. CHROMIUM names the program,
// /usr/bin/chromium if unset; flags are additional flags of it.
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

  // newPage opens a page in a separate profile and collects its faults: errors that it
  // logs or throws, and requests to other origins.
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
      // A view that the user leaves aborts its requests.
      if (errorText !== 'net::ERR_ABORTED') faults.push(`failed: ${request.url()} ${errorText}`);
    });
    return { context, page, faults };
  }

  // visit runs a check with one page for each of the options, and fails if a page has faults
  // other than the expected ones. If ONLY is set, a regular expression, checks with other
  // names are skipped.
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

// restart asks the process that started the check to restart the server: it prints a line
// and reads one when the server is down, and another pair when it is up again.
export async function restart(whileDown) {
  console.log('restart the server');
  await lines.next();
  await whileDown();
  console.log('start it again');
  await lines.next();
}

// done closes standard input, so that the process can exit.
export function done() {
  process.stdin.unref?.();
  process.stdin.destroy();
}

// until waits until a condition holds.
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
