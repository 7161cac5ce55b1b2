import type { Cache, FieldInfo, Resolver, UpdateResolver } from '@urql/exchange-graphcache';
import {
  CommentEdgeFragmentDoc,
  DeletedCommentFragmentDoc,
  ReplyCountFragmentDoc,
  type AddCommentMutation,
  type CommentFragment,
  type CommentsChangedSubscription,
} from '../operations';
import type { Subject } from './subject';

// The lists of comments in the cache follow what the viewer and others add and delete.
// Everything here may arrive twice and in any order: a response and the event about the
// same comment, or an event that is sent again after a lost connection.
//
// Comments are added to the lists and never removed: deleted ones are omitted when a list
// is read. No optimistic result changes a list: its layer would be above those of all
// events before its response, so that each event would be added to the optimistic list
// instead of to the event before it.

export const added: UpdateResolver = (result, args, cache) => {
  const { comment } = (result as AddCommentMutation).addComment;
  place(cache, (args as { input: Subject }).input, comment);
};

export const deleted: UpdateResolver = (_result, args, cache) => remove(cache, (args as { input: { id: string } }).input.id);

export const changed: UpdateResolver = (result, _args, cache) => {
  const { comment } = (result as CommentsChangedSubscription).commentsChanged;
  if (!comment.deleted || comment.replyCount > 0) place(cache, comment.subject, comment);
};

// listed omits the deleted comments from a list, except those with replies.
export const listed: Resolver = (_parent, _args, cache, { parentKey }) =>
  (cache.resolve(parentKey, 'edges') as string[] | undefined)?.filter((edge) => {
    const comment = nodeOf(cache, edge);
    return cache.resolve(comment, 'deleted') !== true || cache.resolve(comment, 'replyCount') !== 0;
  });

// place inserts a comment into each list with a place for it: into the first page whose
// last comment follows it, or that is the last page. A page that is not loaded yet will
// contain it anyway.
function place(cache: Cache, subject: Subject, comment: CommentFragment): void {
  const key = cache.keyOfEntity({ __typename: 'Comment', id: comment.id })!;
  const edge = cache.keyOfEntity({ __typename: 'CommentEdge', node: { id: comment.id } })!;
  for (const { pages, order } of listsOf(cache, subject, comment.parent?.id)) {
    if (pages.some((page) => page.edges.includes(edge))) continue;
    const before = (other: string) => orders[order](cache, key, nodeOf(cache, other)) < 0;
    const page = pages.find(({ edges, more }) => !more || (edges.length > 0 && before(edges.at(-1)!)));
    if (!page) continue;
    cache.writeFragment(CommentEdgeFragmentDoc, { __typename: 'CommentEdge', node: { ...comment, parent: comment.parent && { ...comment.parent } } });
    const next = page.edges.findIndex(before);
    const at = next < 0 ? page.edges.length : next;
    cache.link(page.key, 'edges', [...page.edges.slice(0, at), edge, ...page.edges.slice(at)]);
  }
}

// remove marks a comment as deleted. Its parent then has one reply less, unless the
// comment has replies itself and so keeps its place.
function remove(cache: Cache, id: string): void {
  const key = cache.keyOfEntity({ __typename: 'Comment', id })!;
  if (cache.resolve(key, 'deleted') !== false) return; // the event was applied before
  cache.writeFragment(DeletedCommentFragmentDoc, { __typename: 'Comment', id, text: '', deleted: true, author: null });
  const parent = cache.resolve(key, 'parent');
  if (typeof parent !== 'string' || cache.resolve(key, 'replyCount') !== 0) return;
  const replyCount = Number(cache.resolve(parent, 'replyCount')) - 1;
  cache.writeFragment(ReplyCountFragmentDoc, { __typename: 'Comment', id: cache.resolve(parent, 'id') as string, replyCount });
}

type Order = 'NEWEST' | 'OLDEST' | 'TOP';

// orders compare two comments: negative if the first one comes first.
const orders: Record<Order, (cache: Cache, one: string, other: string) => number> = {
  NEWEST: (cache, one, other) => numberOf(cache, other) - numberOf(cache, one),
  OLDEST: (cache, one, other) => numberOf(cache, one) - numberOf(cache, other),
  TOP: (cache, one, other) => likesOf(cache, other) - likesOf(cache, one) || numberOf(cache, other) - numberOf(cache, one),
};

// The ids of comments increase with time.
const numberOf = (cache: Cache, comment: string) => Number(cache.resolve(comment, 'commentId'));

function likesOf(cache: Cache, comment: string): number {
  const subject = cache.resolve(comment, 'interactive');
  return typeof subject === 'string' ? Number(cache.resolve(subject, 'likeCount')) : 0;
}

const nodeOf = (cache: Cache, edge: string) => cache.resolve(edge, 'node') as string;

// List is one order of comments, as far as it is loaded.
interface List {
  readonly order: Order;
  readonly pages: readonly Page[]; // consecutive, starting with the first
}

interface Page {
  readonly key: string;
  readonly edges: readonly string[];
  readonly more: boolean; // whether another page follows
}

function listsOf(cache: Cache, subject: Subject, parent: string | undefined): List[] {
  return parent
    ? listsBelow(cache, cache.keyOfEntity({ __typename: 'Comment', id: parent })!, 'replies')
    : listsBelow(cache, cache.keyOfEntity({ __typename: 'Interactive', biz: subject.biz, bizId: subject.bizId })!, 'comments');
}

function listsBelow(cache: Cache, entity: string, list: 'comments' | 'replies'): List[] {
  const fields = cache.inspectFields(entity).filter((field) => field.fieldName === list);
  const orderOf = (field: FieldInfo) => (field.arguments?.['order'] as Order | undefined) ?? 'OLDEST'; // replies have no other order
  return [...new Set(fields.map(orderOf))].map((order) => ({
    order,
    pages: chain(
      cache,
      entity,
      fields.filter((field) => orderOf(field) === order),
    ),
  }));
}

// chain puts pages in order: each begins where the one before it ends.
function chain(cache: Cache, entity: string, fields: readonly FieldInfo[]): Page[] {
  const pages: Page[] = [];
  let after: unknown = null;
  for (;;) {
    const field = fields.find((one) => (one.arguments?.['after'] ?? null) === after);
    const key = field && cache.resolve(entity, field.fieldKey);
    if (typeof key !== 'string') return pages;
    const info = cache.resolve(key, 'pageInfo') as string;
    const more = cache.resolve(info, 'hasNextPage') === true;
    pages.push({ key, edges: (cache.resolve(key, 'edges') ?? []) as string[], more });
    after = cache.resolve(info, 'endCursor');
    if (!more || after === null) return pages;
  }
}
