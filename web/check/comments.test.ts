/// <reference types="node" />
// What the cache does with the lists of comments, on a network on which the test gives every
// response: npm run test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, makeResult, type Exchange, type Operation, type OperationResult } from '@urql/core';
import { filter, makeSubject, pipe, subscribe } from 'wonka';
import { cache } from '../demo/api/cache';
import {
  AddCommentDocument,
  CommentsChangedDocument,
  CommentsDocument,
  DeleteCommentDocument,
  EditCommentDocument,
  RepliesDocument,
  type CommentFragment,
  type CommentOrder,
} from '../demo/operations';

const subject = { biz: 'video', bizId: '1' };
const atOnce = 3;

interface Said {
  readonly number: number;
  readonly parent: number; // 0 if none
  text: string;
  likes: number;
  deleted: boolean;
}

// Server is a small model of the server. Its responses are correct when they are made.
class Server {
  readonly comments: Said[] = [];
  readonly log: number[] = []; // ids of the changed comments, in order

  add(text: string, parent = 0, likes = 0): number {
    const number = this.comments.length + 1;
    this.comments.push({ number, parent, text, likes, deleted: false });
    this.log.push(number);
    return number;
  }

  edit(number: number, text: string): void {
    this.get(number).text = text;
    this.log.push(number);
  }

  remove(number: number): void {
    const one = this.get(number);
    Object.assign(one, { deleted: true, text: '' });
    this.log.push(number);
    const parent = one.parent && this.get(one.parent);
    if (parent && parent.deleted && this.replies(parent.number).length === 0) this.log.push(parent.number);
  }

  get = (number: number): Said => this.comments[number - 1]!;
  replies = (to: number): Said[] => this.comments.filter((one) => one.parent === to && !one.deleted);
  count = (): number => this.comments.filter((one) => !one.deleted).length;

  // list returns the listed comments in an order.
  list(order: CommentOrder, parent = 0): Said[] {
    const listed = this.comments.filter((one) => one.parent === parent && (!one.deleted || this.replies(one.number).length > 0));
    if (order === 'NEWEST') return listed.reverse();
    return order === 'OLDEST' ? listed : listed.sort((a, b) => b.likes - a.likes || b.number - a.number);
  }

  fragment(number: number) {
    const { text, parent, likes, deleted } = this.get(number);
    return {
      __typename: 'Comment',
      id: `c${number}`,
      commentId: String(number),
      text,
      at: '2026-01-01T00:00:00Z',
      editedAt: null,
      deleted,
      author: deleted ? null : { __typename: 'User', id: 'u', userId: 'bob', profile: null },
      parent: parent ? { __typename: 'Comment', id: `c${parent}`, replyCount: this.replies(parent).length } : null,
      replyCount: this.replies(number).length,
      interactive: {
        __typename: 'Interactive', id: `s${number}`, biz: 'comment', bizId: String(number), readCount: 0, likeCount: likes, dislikeCount: 0, collectCount: 0,
        followerCount: 0, liked: null, collected: null, followed: null, author: null, version: 1, freshness: 'LIVE',
      },
    } satisfies Omit<CommentFragment, 'parent'> & { parent: object | null };
  }

  interactive = () => ({ __typename: 'Interactive', id: 'video 1', ...subject, commentCount: this.count() });

  page(order: CommentOrder, parent: number, after: string | null) {
    const all = this.list(order, parent);
    const begin = after === null ? 0 : all.findIndex((one) => order === 'NEWEST' ? one.number < Number(after) : one.number > Number(after));
    const entries = begin < 0 ? [] : all.slice(begin, begin + atOnce);
    return {
      __typename: 'CommentConnection',
      edges: entries.map((one) => ({ __typename: 'CommentEdge', node: this.fragment(one.number) })),
      pageInfo: { __typename: 'PageInfo', hasNextPage: begin >= 0 && begin + atOnce < all.length, endCursor: entries.length > 0 ? String(entries.at(-1)!.number) : null },
      changesCursor: String(this.log.length),
    };
  }

  answer(operation: Operation): object {
    const { input, order, after, id } = operation.variables as { input: { text: string; id: string; replyTo?: string }; order: CommentOrder; after: string | null; id: string };
    const numberOf = (of: string) => Number(of.slice(1));
    switch (nameOf(operation)) {
      case 'Comments':
        return { interactive: { ...this.interactive(), comments: this.page(order, 0, after) } };
      case 'Replies':
        return { node: { ...this.fragment(numberOf(id)), replies: this.page('OLDEST', numberOf(id), after) } };
      case 'AddComment':
        return { addComment: { __typename: 'AddCommentPayload', comment: this.fragment(this.add(input.text, input.replyTo ? numberOf(input.replyTo) : 0)), interactive: this.interactive() } };
      case 'EditComment':
        this.edit(numberOf(input.id), input.text);
        return { editComment: { __typename: 'EditCommentPayload', comment: this.fragment(numberOf(input.id)) } };
      case 'DeleteComment':
        this.remove(numberOf(input.id));
        return { deleteComment: { __typename: 'DeleteCommentPayload', deletedId: input.id, interactive: this.interactive() } };
    }
    throw new Error(`nobody answers ${nameOf(operation)}`);
  }

  event(place: number): object {
    const comment = this.fragment(this.log[place]!);
    const kind = comment.deleted ? 'DELETED' : 'ADDED';
    return { __typename: 'Subscription', commentsChanged: { __typename: 'CommentEvent', kind, cursor: String(place + 1), comment: { ...comment, subject: this.interactive() } } };
  }
}

// Page is a client that shows lists of comments, with its network.
class Page {
  readonly server = new Server();
  readonly sent: Operation[] = [];
  delivered = 0; // number of events sent
  readonly lists = new Map<string, string[][]>(); // the texts of each page
  private readonly answers = makeSubject<OperationResult>();
  private readonly client: Client;

  constructor() {
    const network: Exchange = () => (operations) => {
      pipe(
        operations,
        filter((operation) => operation.kind !== 'teardown'),
        subscribe((operation) => void this.sent.push(operation)),
      );
      return this.answers.source;
    };
    this.client = new Client({ url: 'http://unused.test', preferGetMethod: false, exchanges: [cache(), network] });
  }

  // open loads pages one after another, up to the given number.
  async open(order: CommentOrder, pages = 100): Promise<void> {
    await this.pages(order, pages, (after) =>
      this.client.query(CommentsDocument, { ...subject, order, first: atOnce, after }), (data) => data.interactive.comments);
    if (!this.sent.some((one) => one.kind === 'subscription')) {
      this.delivered = this.server.log.length;
      this.client.subscription(CommentsChangedDocument, { ...subject, after: null }).subscribe(() => {});
    }
  }

  replies = (to: number) =>
    this.pages(`replies ${to}`, 100, (after) => this.client.query(RepliesDocument, { id: `c${to}`, first: atOnce, after }), (data) =>
      data.node && 'replies' in data.node ? data.node.replies : undefined);

  private async pages<Data>(name: string, most: number, ask: (after: string | null) => { subscribe: (on: (result: { data?: Data | undefined }) => void) => unknown },
    of: (data: Data) => { edges: { node: CommentFragment }[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } | undefined): Promise<void> {
    const shown: string[][] = [];
    this.lists.set(name, shown);
    let after: string | null = null;
    for (let number = 0; number < most; number++) {
      let info: { hasNextPage: boolean; endCursor: string | null } | undefined;
      ask(after).subscribe(({ data }) => {
        const list = data && of(data);
        if (!list) return;
        shown[number] = list.edges.map(({ node }) => node.deleted ? '(deleted)' : `${node.text}${node.replyCount > 0 ? ` +${node.replyCount}` : ''}`);
        info ??= list.pageInfo;
      });
      await this.answerAll();
      if (!info?.hasNextPage) return;
      after = info.endCursor;
    }
  }

  shown = (name: string): string[] => this.lists.get(name)!.flat();

  add = (text: string, replyTo?: number) =>
    void this.client.mutation(AddCommentDocument, { input: { ...subject, text, ...(replyTo && { replyTo: `c${replyTo}` }) } }).toPromise();
  edit = (number: number, text: string) => void this.client.mutation(EditCommentDocument, { input: { id: `c${number}`, text } }).toPromise();
  remove = (number: number) => void this.client.mutation(DeleteCommentDocument, { input: { id: `c${number}` } }).toPromise();

  async answerAll(): Promise<void> {
    await settled();
    for (const operation of this.sent.filter((one) => one.kind !== 'subscription')) await this.answer(operation);
  }

  async answer(operation: Operation, refusal?: string): Promise<void> {
    this.sent.splice(this.sent.indexOf(operation), 1);
    const errors = refusal ? [{ message: 'no', extensions: { code: refusal } }] : undefined;
    const __typename = operation.kind === 'mutation' ? 'Mutation' : 'Query';
    this.answers.next(makeResult(operation, errors ? { data: null, errors } : { data: { __typename, ...this.server.answer(operation) } }));
    await settled();
  }

  // hear sends the events of all changes, or those from an earlier position on.
  async hear(from = this.delivered): Promise<void> {
    const operation = this.sent.find((one) => one.kind === 'subscription')!;
    for (this.delivered = from; this.delivered < this.server.log.length; this.delivered++) {
      this.answers.next(makeResult(operation, { data: structuredClone(this.server.event(this.delivered)), hasNext: true }));
    }
    await settled();
  }
}

function nameOf({ query }: Operation): string {
  const [definition] = query.definitions;
  return definition?.kind === 'OperationDefinition' ? (definition.name?.value ?? '') : '';
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
}

// talk returns a page with some comments: 1 to 5, the third with two replies.
async function talk(): Promise<Page> {
  const page = new Page();
  for (const text of ['a', 'b', 'c', 'd', 'e']) page.server.add(text);
  page.server.add('x', 3);
  page.server.add('y', 3);
  return page;
}

test('comments of others are inserted at their position in each order, once', async () => {
  const page = await talk();
  await page.open('NEWEST');
  await page.open('OLDEST');
  await page.open('TOP', 1);
  const [top] = page.lists.get('TOP')!;
  page.server.add('f');
  await page.hear();
  await page.hear(0); // all events again
  assert.deepEqual(page.lists.get('NEWEST'), [['f', 'e', 'd', 'c +2'], ['b', 'a']]);
  assert.deepEqual(page.lists.get('OLDEST'), [['a', 'b', 'c +2'], ['d', 'e', 'f']]);
  assert.deepEqual(top, ['e', 'd', 'c +2']);
  assert.equal(page.shown('TOP')[0], 'f', 'of those with as many likes the newest is first');
});

test('comments that belong after a page that is not the last are not added to it', async () => {
  const page = await talk();
  await page.open('OLDEST', 1);
  page.server.add('f');
  await page.hear();
  assert.deepEqual(page.shown('OLDEST'), ['a', 'b', 'c +2']);
});

test("the viewer's own comment is added once, whether its response or its event arrives first", async () => {
  for (const eventFirst of [true, false]) {
    const page = await talk();
    await page.open('NEWEST', 1);
    page.add('mine');
    await settled();
    assert.equal(page.shown('NEWEST')[0], 'e', 'it has no place before it has an id');
    if (eventFirst) {
      const [operation] = page.sent.filter((one) => one.kind === 'mutation');
      const data = { __typename: 'Mutation', ...page.server.answer(operation!) };
      await page.hear();
      assert.equal(page.shown('NEWEST')[0], 'mine');
      page['answers'].next(makeResult(operation!, { data }));
      await settled();
    } else {
      await page.answerAll();
      assert.equal(page.shown('NEWEST')[0], 'mine');
      await page.hear();
    }
    assert.deepEqual(page.shown('NEWEST'), ['mine', 'e', 'd', 'c +2']);
  }
});

test('a reply is listed below its parent', async () => {
  const page = await talk();
  await page.open('NEWEST');
  await page.replies(3);
  page.server.add('z', 3);
  await page.hear();
  assert.deepEqual(page.shown('replies 3'), ['x', 'y', 'z']);
  assert.deepEqual(page.shown('NEWEST'), ['e', 'd', 'c +3', 'b', 'a']);
});

test('a deletion shows at once, and is rolled back if it is rejected', async () => {
  const page = await talk();
  await page.open('NEWEST');
  page.remove(4);
  await settled();
  assert.deepEqual(page.shown('NEWEST'), ['e', 'c +2', 'b', 'a']);
  await page.answer(page.sent.find((one) => one.kind === 'mutation')!, 'UNAVAILABLE');
  assert.deepEqual(page.shown('NEWEST'), ['e', 'd', 'c +2', 'b', 'a']);
  // The deletion was executed all the same: the stream delivers the event.
  page.server.remove(4);
  await page.hear();
  assert.deepEqual(page.shown('NEWEST'), ['e', 'c +2', 'b', 'a']);
});

test('a deleted comment with replies keeps its place until the last is deleted', async () => {
  const page = await talk();
  await page.open('NEWEST');
  await page.replies(3);
  page.remove(3);
  await page.answerAll();
  await page.hear();
  assert.deepEqual(page.shown('NEWEST'), ['e', 'd', '(deleted)', 'b', 'a']);
  page.remove(6);
  await settled();
  assert.deepEqual(page.shown('replies 3'), ['y']);
  await page.answerAll();
  await page.hear();
  page.remove(7);
  await page.answerAll();
  await page.hear();
  assert.deepEqual(page.shown('replies 3'), []);
  assert.deepEqual(page.shown('NEWEST'), ['e', 'd', 'b', 'a']);
});

test('the number of replies is correct whether the response or the event arrives first', async () => {
  for (const eventFirst of [true, false]) {
    const page = await talk();
    await page.open('NEWEST');
    await page.replies(3);
    page.remove(6);
    await settled();
    assert.ok(page.shown('NEWEST').includes('c +1'));
    const operation = page.sent.find((one) => one.kind === 'mutation')!;
    const data = { __typename: 'Mutation', ...page.server.answer(operation) };
    if (eventFirst) await page.hear();
    page['answers'].next(makeResult(operation, { data }));
    await settled();
    if (!eventFirst) await page.hear();
    assert.ok(page.shown('NEWEST').includes('c +1'), String(page.shown('NEWEST')));
  }
});

test('changes by others during an own deletion are kept, whether it succeeds or is rejected', async () => {
  for (const refusal of [undefined, 'UNAVAILABLE']) {
    const page = await talk();
    await page.open('NEWEST');
    page.remove(4);
    await settled();
    page.server.remove(1);
    page.server.add('f');
    page.server.remove(2);
    await page.hear();
    assert.deepEqual(page.shown('NEWEST'), ['f', 'e', 'c +2']);
    await page.answer(page.sent.find((one) => one.kind === 'mutation')!, refusal);
    assert.deepEqual(page.shown('NEWEST'), refusal ? ['f', 'e', 'd', 'c +2'] : ['f', 'e', 'c +2']);
  }
});

test('own comments and those of others are added while a query is pending', async () => {
  const page = await talk();
  await page.open('NEWEST');
  page['client'].query(RepliesDocument, { id: 'c3', first: atOnce, after: null }).subscribe(() => {});
  await settled();
  for (const text of ['f', 'g', 'h']) {
    page.add(text);
    await settled();
    await page.answer(page.sent.find((one) => one.kind === 'mutation')!);
    page.server.add(`${text}!`);
    await page.hear();
  }
  const all = ['h!', 'h', 'g!', 'g', 'f!', 'f', 'e', 'd', 'c +2', 'b', 'a'];
  assert.deepEqual(page.shown('NEWEST'), all);
  await page.answerAll();
  assert.deepEqual(page.shown('NEWEST'), all);
});

test('an edit shows at once, and is rolled back if it is rejected', async () => {
  const page = await talk();
  await page.open('NEWEST', 1);
  page.edit(5, 'E');
  await settled();
  assert.deepEqual(page.shown('NEWEST'), ['E', 'd', 'c +2']);
  await page.answer(page.sent.find((one) => one.kind === 'mutation')!, 'NOT_FOUND');
  assert.deepEqual(page.shown('NEWEST'), ['e', 'd', 'c +2']);
});

test('whatever others do, the lists equal those of the server', async (t) => {
  const seed = Number(process.env['SEED'] ?? 1);
  t.diagnostic(`SEED=${seed} repeats this`);
  for (let run = 0; run < Number(process.env['RUNS'] ?? 40); run++) {
    let state = seed + run;
    const random = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const page = await talk();
    const { server } = page;
    await page.open('NEWEST');
    await page.open('OLDEST');
    await page.replies(3);
    for (let step = 0; step < 30; step++) {
      const alive = server.comments.filter((one) => !one.deleted);
      const one = alive[random(alive.length)]?.number ?? 0;
      const [own, parent] = [random(2) === 0, server.get(3).deleted ? 0 : random(2) * 3];
      const text = `t${step}`;
      const what = random(4);
      if (what < 2 || one === 0) own ? page.add(text, parent || undefined) : server.add(text, parent);
      else if (what === 2) own ? page.edit(one, text) : server.edit(one, text);
      else own ? page.remove(one) : server.remove(one);
      await settled();
      if (random(2) === 0) await page.hear();
      await page.answerAll();
      if (random(4) === 0) await page.hear(random(page.delivered + 1)); // some events again
    }
    await page.hear();
    const expected = (order: CommentOrder, parent = 0) =>
      server.list(order, parent).map((one) => (one.deleted ? '(deleted)' : `${one.text}${server.replies(one.number).length > 0 ? ` +${server.replies(one.number).length}` : ''}`));
    assert.deepEqual(page.shown('NEWEST'), expected('NEWEST'), `SEED=${seed + run}`);
    assert.deepEqual(page.shown('OLDEST'), expected('OLDEST'), `SEED=${seed + run}`);
    assert.deepEqual(page.shown('replies 3'), expected('OLDEST', 3), `SEED=${seed + run}`);
  }
});
