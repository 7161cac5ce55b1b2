/// <reference types="node" />
// How connect maintains a connection, with a server of graphql-transport-ws.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import WebSocket, { WebSocketServer } from 'ws';
import { connect, keepNewest, TokenRejected, type Options, type Socket } from '../src/index';
import { cardOf } from './operations';

interface Message {
  readonly id: string;
  readonly type: string;
  readonly payload?: { readonly query?: string; readonly variables?: Record<string, unknown>; readonly Authorization?: string };
}

// Server accepts the token "good" and anonymous viewers, and records what it received.
class Server {
  readonly connections: string[] = []; // the authorization of each
  readonly subscribed: Message[] = [];
  private port = 0;
  private listening: WebSocketServer | undefined;
  private sockets: WebSocket[] = [];

  get url(): string {
    return `ws://127.0.0.1:${this.port}/graphql`;
  }

  async start(): Promise<void> {
    this.listening = new WebSocketServer({ port: this.port, host: '127.0.0.1', handleProtocols: () => 'graphql-transport-ws' });
    this.listening.on('connection', (socket) => this.accept(socket));
    await new Promise((resolve) => this.listening!.once('listening', resolve));
    this.port = (this.listening.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets.splice(0)) socket.close(1001);
    await new Promise((resolve) => this.listening!.close(resolve));
  }

  event(data: object): void {
    const { id } = this.subscribed.at(-1)!;
    this.sockets.at(-1)!.send(JSON.stringify({ id, type: 'next', payload: { data } }));
  }

  // expire closes the connection as if its token had expired.
  expire = () => this.sockets.at(-1)!.close(4403, 'Forbidden: the token has expired');

  private accept(socket: WebSocket): void {
    this.sockets.push(socket);
    socket.on('message', (text) => {
      const message = JSON.parse(String(text)) as Message;
      if (message.type === 'subscribe') this.subscribed.push(message);
      if (message.type !== 'connection_init') return;
      const token = message.payload?.Authorization ?? '';
      this.connections.push(token);
      if (/^(Bearer good.*)?$/.test(token)) socket.send(JSON.stringify({ type: 'connection_ack' }));
      else socket.close(4403, 'Forbidden: the token is invalid');
    });
  }
}

interface Page {
  readonly server: Server;
  readonly socket: Socket;
  readonly heard: unknown[];
  readonly errors: unknown[];
  readonly states: string[];
}

async function watching(t: TestContext, options: Partial<Options> = {}): Promise<Page> {
  const server = new Server();
  await server.start();
  const socket = connect({ url: server.url, webSocketImpl: WebSocket, ...options });
  const page: Page = { server, socket, heard: [], errors: [], states: [] };
  socket.status.watch(() => void (page.states.at(-1) !== socket.status.get().state && page.states.push(socket.status.get().state)));
  socket.subscribe(
    { query: 'subscription ($after: String) { commentsChanged(biz: "video", bizId: "1", after: $after) { cursor } }', variables: { after: 'first' } },
    { next: ({ data }) => page.heard.push(data), error: (error) => page.errors.push(error), complete: () => {} },
  );
  t.after(async () => {
    await socket.dispose();
    await server.stop().catch(() => {});
  });
  return page;
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !holds(); ) {
    assert.ok(Date.now() < end, what);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('it survives a restart of the server, and continues after the last event', async (t) => {
  const { server, socket, heard, errors, states } = await watching(t);
  await until('it is subscribed', () => server.subscribed.length === 1);
  server.event({ commentsChanged: { cursor: 'second' } });
  await until('the event is heard', () => heard.length === 1);
  await server.stop();
  await until('the connection is lost', () => socket.status.get().state === 'reconnecting');
  await new Promise((resolve) => setTimeout(resolve, 600)); // some attempts fail
  await server.start();
  await until('it is subscribed again', () => server.subscribed.length === 2);
  assert.deepEqual(server.subscribed.map(({ payload }) => payload?.variables?.['after']), ['first', 'second']);
  assert.deepEqual(states, ['connecting', 'live', 'reconnecting', 'live']);
  assert.deepEqual(errors, []);
});

test('a token that is rejected is not sent again', async (t) => {
  const { server, socket, errors, states } = await watching(t, { token: 'bad' });
  await until('the listener is called', () => errors.length === 1);
  assert.ok(errors[0] instanceof TokenRejected);
  assert.equal((errors[0] as Error).message, 'The token was rejected: the token is invalid');
  assert.deepEqual(socket.status.get(), { state: 'rejected', reason: 'the token is invalid' });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.deepEqual(server.connections, ['Bearer bad']);
  assert.deepEqual(states, ['connecting', 'rejected']);
});

test('nor is one that a function returns again', async (t) => {
  const { server, socket, errors } = await watching(t, { token: () => Promise.resolve('bad') });
  await until('the listener is called', () => errors.length === 1);
  assert.ok(errors[0] instanceof TokenRejected);
  await until('it stays', () => socket.status.get().state === 'rejected');
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal(socket.status.get().state, 'rejected');
  assert.deepEqual(server.connections, ['Bearer bad']);
});

test('when a token expires, the next one is sent', async (t) => {
  let uses = 0;
  const { server, socket, errors } = await watching(t, { token: () => `good${++uses}` });
  await until('it is subscribed', () => server.subscribed.length === 1);
  server.expire();
  await until('it is subscribed again', () => server.subscribed.length === 2);
  assert.deepEqual(server.connections, ['Bearer good1', 'Bearer good2']);
  assert.equal(socket.status.get().state, 'live');
  assert.deepEqual(errors, []);
});

test('iterating continues after the last event, too', async (t) => {
  const server = new Server();
  await server.start();
  const socket = connect({ url: server.url, webSocketImpl: WebSocket });
  t.after(async () => {
    await socket.dispose();
    await server.stop();
  });
  const events = socket.iterate({ query: 'subscription ($after: String) { commentsChanged(after: $after) { cursor } }' });
  const first = events.next();
  await until('it is subscribed', () => server.subscribed.length === 1);
  server.event({ commentsChanged: { cursor: 'second' } });
  assert.deepEqual((await first).value, { data: { commentsChanged: { cursor: 'second' } } });
  const second = events.next();
  await server.stop();
  await server.start();
  await until('it is subscribed again', () => server.subscribed.length === 2);
  assert.equal(server.subscribed[1]!.payload?.variables?.['after'], 'second');
  server.event({ commentsChanged: { cursor: 'third' } });
  await second;
});

test('messages continue after the last one, and counts start again', async (t) => {
  const { server } = await watching(t);
  await until('it is subscribed', () => server.subscribed.length === 1);
  for (const [data, after] of [
    [{ messages: { id: 'second' } }, 'second'],
    [{ interactiveChanged: { id: 'video 1', version: 1 } }, 'second'],
  ] as const) {
    server.event(data);
    const before = server.subscribed.length;
    await server.stop();
    await server.start();
    await until('it is subscribed again', () => server.subscribed.length === before + 1);
    assert.equal(server.subscribed.at(-1)!.payload?.variables?.['after'], after);
  }
});

test('without a cache, older events are skipped as well', async (t) => {
  const { server, socket } = await watching(t);
  const heard: number[] = [];
  keepNewest(socket).subscribe<{ interactiveChanged: { likeCount: number } }>(
    { query: 'subscription Live { interactiveChanged(subjects: [{biz: "video", bizId: "1"}]) { __typename biz bizId version likeCount } }' },
    { next: ({ data }) => heard.push(data!.interactiveChanged.likeCount), error: assert.fail, complete: () => {} },
  );
  await until('it is subscribed', () => server.subscribed.length === 2);
  for (const [version, likes] of [[5, 10], [7, 12], [6, 11], [8, 13]] as const) server.event({ interactiveChanged: cardOf(version, likes) });
  await until('the last is heard', () => heard.at(-1) === 13);
  assert.deepEqual(heard, [10, 12, 13]);
});
