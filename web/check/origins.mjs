// Checks, in headless Chromium, that pages of other origins can use a running server.
//
//   node check/origins.mjs BASE_URL OUT_DIR
//
// The server must be `ovation dev` with development headers; OVATION_CHECK_TOKENS is the
// token of a user. The pages are those of localhost on another port, among them
// examples/plain, those of a host that is not this machine, and those that Vite serves and
// proxies. Exits with 1 at the first fault.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createVite } from 'vite';
import { desktop, done, openBrowser, restart, until } from './browser.mjs';

const [base, out] = process.argv.slice(2);
const html = '<!doctype html><html lang="en"><title>A page of one\'s own</title><link rel="icon" href="data:,"></html>';
const example = readFileSync(join(import.meta.dirname, '../../examples/plain/index.html'), 'utf8').replace('http://127.0.0.1:8080', base);
const elsewhere = 'other.test';
const soon = 5_000; // milliseconds from the start of the server until counts are live

const pages = createServer(({ url }, response) => response.setHeader('content-type', 'text/html').end(url === '/example' ? example : html));
await new Promise((resolve) => pages.listen(0, 'localhost', resolve));
const { port } = pages.address();

const folder = mkdtempSync(join(tmpdir(), 'own-page-'));
writeFileSync(join(folder, 'index.html'), html);
const vite = await createVite({
  configFile: false,
  root: folder,
  logLevel: 'silent',
  server: { port: 0, hmr: false, proxy: { '/graphql': { target: base, ws: true } } }, // as in the README
});
await vite.listen();

const { visit, shoot, close } = await openBrowser(base, out, [`--host-resolver-rules=MAP ${elsewhere} localhost`]);
const asked = /^request to |^socket to |^failed: |status of 40[13]/; // faults of rejected requests to another origin
const down = /^request to |^failed: |net::ERR_/; // faults while the server is down
try {
  await visit('localhost', desktop, fromLoopback, asked);
  await visit('example', desktop, plainExample, down);
  await visit('example-anonymous', desktop, plainExampleWithoutToken, asked);
  await visit('elsewhere', desktop, fromAnotherMachine, asked);
  await visit('proxy', desktop, byProxy, asked);
  console.log('ok');
} finally {
  await close();
  await vite.close();
  pages.closeAllConnections();
  pages.close();
  rmSync(folder, { recursive: true });
  done();
}

async function fromLoopback(page) {
  const origin = `http://localhost:${port}`;
  await page.goto(origin);
  assert.deepEqual(await query(page, base), { status: 200, data: { viewer: null } });
  assert.deepEqual(await connect(page, base), { ack: true });
  const name = { 'X-Ovation-User': 'bob' };
  const { status, message } = await query(page, base, name);
  assert.deepEqual([status, message.includes(`add --allowed-origins ${origin}`)], [401, true], message);
  const { code, reason } = await connect(page, base, name);
  assert.deepEqual([code, reason.includes(`add --allowed-origins ${origin}`)], [4403, true], reason);
}

// plainExample likes and unlikes, live, also after a restart of the server.
async function plainExample(page) {
  await page.goto(`http://localhost:${port}/example#token=${process.env.OVATION_CHECK_TOKENS}`);
  await likeAndUnlike(page);
  await shoot(page, 'plain-example');
  await restart(() => page.getByRole('status').filter({ hasText: 'Reconnecting' }).waitFor());
  const up = Date.now();
  await page.getByRole('status').filter({ hasText: /^Live$/ }).waitFor();
  assert.ok(Date.now() - up <= soon, `live again after ${Date.now() - up} ms only`);
  await likeAndUnlike(page);
}

async function likeAndUnlike(page) {
  await page.getByRole('status').filter({ hasText: /^Live$/ }).waitFor();
  const button = page.getByRole('button', { name: /^♥ \d+$/ });
  const shown = async () => ({ likes: Number(/\d+/.exec(await button.textContent())[0]), on: (await button.getAttribute('aria-pressed')) === 'true' });
  await until('it knows the viewer', () => button.isEnabled());
  const before = await shown();
  assert.equal(before.likes, await likesOf(page));
  for (const { likes, on } of [{ likes: before.likes + (before.on ? -1 : 1), on: !before.on }, before]) {
    await button.click();
    await until('it is counted', async () => {
      const now = await shown();
      return (now.likes === likes && now.on === on) || now;
    });
    assert.equal(await likesOf(page), likes);
  }
}

async function likesOf(page) {
  const response = await page.request.post(`${base}/graphql`, { data: { query: '{ interactive(biz: "video", bizId: "1") { likeCount } }' } });
  return (await response.json()).data.interactive.likeCount;
}

async function plainExampleWithoutToken(page) {
  await page.goto(`http://localhost:${port}/example`);
  const button = page.getByRole('button', { name: /^♥ \d+$/ });
  await until('it is enabled', () => button.isEnabled());
  await button.click();
  await page.getByRole('status').filter({ hasText: 'token' }).waitFor();
  assert.equal(await button.getAttribute('aria-pressed'), 'false');
}

async function fromAnotherMachine(page) {
  const origin = `http://${elsewhere}:${port}`;
  await page.goto(origin);
  for (const headers of [{}, { 'X-Ovation-User': 'bob' }]) {
    const { status, message } = await query(page, base, headers);
    assert.deepEqual([status, message.includes(`start ovation dev with --allowed-origins ${origin}`)], [403, true], message);
  }
  const { code, reason } = await connect(page, base);
  assert.deepEqual([code, reason.includes(`--allowed-origins ${origin}`)], [4403, true], reason);
}

async function byProxy(page) {
  const [origin] = vite.resolvedUrls.local;
  await page.goto(origin);
  for (const [headers, viewer] of [[{}, null], [{ 'X-Ovation-User': 'bob' }, { userId: 'bob' }]]) {
    assert.deepEqual(await query(page, origin.replace(/\/$/, ''), headers), { status: 200, data: { viewer } });
    assert.deepEqual(await connect(page, origin.replace(/\/$/, ''), headers), { ack: true });
  }
}

// query queries the viewer from within a page.
function query(page, server, headers = {}) {
  return page.evaluate(
    async ([url, more]) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...more },
        body: JSON.stringify({ query: '{ viewer { userId } }' }),
      });
      const { data, errors } = await response.json();
      return { status: response.status, ...(errors ? { message: errors[0].message } : { data }) };
    },
    [`${server}/graphql`, headers],
  );
}

// connect opens a WebSocket from within a page, and returns the result.
function connect(page, server, payload = {}) {
  return page.evaluate(
    ([url, init]) =>
      new Promise((resolve) => {
        const socket = new WebSocket(url, 'graphql-transport-ws');
        socket.onopen = () => socket.send(JSON.stringify({ type: 'connection_init', payload: init }));
        socket.onmessage = ({ data }) => {
          resolve({ ack: JSON.parse(data).type === 'connection_ack' });
          socket.close();
        };
        socket.onclose = ({ code, reason }) => resolve({ code, reason });
      }),
    [`${server.replace(/^http/, 'ws')}/graphql`, payload],
  );
}
