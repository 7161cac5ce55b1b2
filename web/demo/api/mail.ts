import type { Cache, FieldInfo, OptimisticMutationResolver, UpdateResolver } from '@urql/exchange-graphcache';
import { LatestFragmentDoc, MessageEdgeFragmentDoc, type MessageFragment, type MessagesSubscription, type SendMessageMutation } from '../operations';

// Conversations in the cache follow the messages that the viewer sends and receives. A
// message may arrive twice: in the response to its sender, and by the stream.

export const arrived: UpdateResolver = (result, _args, cache) => receive(cache, (result as MessagesSubscription).messages);

export const sent: UpdateResolver = (result, _args, cache) => receive(cache, (result as SendMessageMutation).sendMessage.message);

// markRead returns the expected response of markRead.
export const markRead: OptimisticMutationResolver = ({ input }, cache) => {
  const conversation = conversationWith(cache, (input as { with: string }).with);
  return conversation ? { __typename: 'MarkReadPayload', conversation: { __typename: 'Conversation', id: cache.resolve(conversation, 'id') as string, unread: 0 } } : null;
};

function receive(cache: Cache, message: MessageFragment): void {
  const me = viewerOf(cache);
  if (me === undefined) return;
  const own = message.from.userId === me;
  const other = own ? message.to.userId : message.from.userId;
  const conversation = conversationWith(cache, other);
  if (!conversation) return invalidateLists(cache, other);
  insert(cache, conversation, message);

  const latest = cache.resolve(conversation, 'latest') as string;
  if (latest === cache.keyOfEntity({ __typename: 'Message', id: message.id }) || timeOf(cache, latest) > message.at) return;
  const unread = Number(cache.resolve(conversation, 'unread')) + (own ? 0 : 1);
  cache.writeFragment(LatestFragmentDoc, { __typename: 'Conversation', id: cache.resolve(conversation, 'id') as string, unread, latest: message });
  moveToTop(cache, conversation);
}

// insert inserts a message into the first page of its conversation, newest first.
function insert(cache: Cache, conversation: string, message: MessageFragment): void {
  const page = firstPage(cache, conversation, 'messages');
  if (!page) return;
  const edge = cache.keyOfEntity({ __typename: 'MessageEdge', node: { id: message.id } })!;
  const edges = edgesOf(cache, page);
  if (edges.includes(edge)) return;
  cache.writeFragment(MessageEdgeFragmentDoc, { __typename: 'MessageEdge', node: message });
  const place = edges.findIndex((one) => timeOf(cache, cache.resolve(one, 'node') as string) <= message.at);
  cache.link(page, 'edges', place < 0 ? [...edges, edge] : edges.toSpliced(place, 0, edge));
}

// moveToTop moves a conversation to the top of the list.
function moveToTop(cache: Cache, conversation: string): void {
  const page = firstPage(cache, 'Query', 'conversations');
  if (!page) return;
  const edges = edgesOf(cache, page);
  const edge = edges.find((one) => cache.resolve(one, 'node') === conversation);
  if (edge) cache.link(page, 'edges', [edge, ...edges.filter((one) => one !== edge)]);
  else for (const { fieldKey } of pagesOf(cache, 'Query', 'conversations')) cache.invalidate('Query', fieldKey);
}

// invalidateLists invalidates the lists, because the conversation is new.
function invalidateLists(cache: Cache, other: string): void {
  for (const { fieldName, fieldKey, arguments: args } of cache.inspectFields('Query')) {
    if (fieldName === 'conversations' || (fieldName === 'conversation' && args?.['with'] === other)) cache.invalidate('Query', fieldKey);
  }
}

// conversationWith finds the conversation with a user, if it is cached.
function conversationWith(cache: Cache, other: string): string | undefined {
  const read = cache.resolve('Query', 'conversation', { with: other });
  if (typeof read === 'string') return read;
  for (const { fieldKey } of pagesOf(cache, 'Query', 'conversations')) {
    for (const edge of edgesOf(cache, cache.resolve('Query', fieldKey) as string)) {
      const node = cache.resolve(edge, 'node') as string;
      if (cache.resolve(cache.resolve(node, 'with') as string, 'userId') === other) return node;
    }
  }
  return undefined;
}

function viewerOf(cache: Cache): string | undefined {
  const viewer = cache.resolve('Query', 'viewer');
  return typeof viewer === 'string' ? (cache.resolve(viewer, 'userId') as string) : undefined;
}

const timeOf = (cache: Cache, message: string) => cache.resolve(message, 'at') as string;

const edgesOf = (cache: Cache, page: string) => (cache.resolve(page, 'edges') ?? []) as string[];

const pagesOf = (cache: Cache, entity: string, field: string): FieldInfo[] => cache.inspectFields(entity).filter(({ fieldName }) => fieldName === field);

function firstPage(cache: Cache, entity: string, field: string): string | undefined {
  const first = pagesOf(cache, entity, field).find(({ arguments: args }) => (args?.['after'] ?? null) === null);
  const page = first && cache.resolve(entity, first.fieldKey);
  return typeof page === 'string' ? page : undefined;
}
