import type { Cache, DataField, KeyingConfig, OptimisticMutationConfig, OptimisticMutationResolver, ResolveInfo, UpdatesConfig, Variables } from '@urql/exchange-graphcache';
import { withFolder, withFollow, withReaction } from '../optimistic.js';
import { embedded } from '../schema.js';
import { counts, keyOf, type Interactive, type Reaction, type Subject } from '../subject.js';

// keys identify a subject by biz and bizId, as mutations do, and list the types that
// have no identity.
export const keys: KeyingConfig = {
  ...Object.fromEntries(embedded.map((type) => [type, () => null])),
  Interactive: (data) => (isNamed(data) ? keyOf(data) : unnamed()),
};

function isNamed(data: object): data is Subject {
  const { biz, bizId } = data as Partial<Subject>;
  return biz !== undefined && bizId !== undefined;
}

function unnamed(): null {
  console.error('@ovation/client: an operation selects an Interactive without biz and bizId. It is not normalised, and no event or mutation updates it.');
  return null;
}

type Input = Subject & { readonly folderId?: string | null };

// optimistic contains the expected responses of mutations, which are displayed until the
// responses arrive.
export const optimistic: OptimisticMutationConfig = {
  like: expecting('LikePayload', (card) => withReaction(card, 'LIKE')),
  unlike: expecting('UnlikePayload', (card) => withReaction(card, without(card, 'LIKE'))),
  dislike: expecting('DislikePayload', (card) => withReaction(card, 'DISLIKE')),
  undislike: expecting('UndislikePayload', (card) => withReaction(card, without(card, 'DISLIKE'))),
  collect: expecting('CollectPayload', (card, input, cache) => withFolder(card, folderOf(input, cache))),
  uncollect: expecting('UncollectPayload', (card) => withFolder(card, null)),
  follow: expecting('FollowPayload', (card) => withFollow(card, true)),
  unfollow: expecting('UnfollowPayload', (card) => withFollow(card, false)),
};

// without returns the reaction that remains when one is removed: unlike does not change
// a dislike.
function without({ liked }: Interactive, reaction: Reaction): Reaction | null {
  return liked?.reaction && liked.reaction !== reaction ? liked.reaction : null;
}

function expecting(payload: string, change: (card: Interactive, input: Input, cache: Cache) => Interactive): OptimisticMutationResolver {
  return (args, cache) => {
    const input = args['input'] as unknown as Input;
    const card = cached(input, cache);
    if (!card) return null;
    const changed = Object.entries(change(card, input, cache)).filter(([field, value]) => value !== card[field as keyof Interactive]);
    // Fields that are omitted keep their cached values.
    const interactive = { __typename: 'Interactive', biz: input.biz, bizId: input.bizId, ...Object.fromEntries(changed) };
    return { __typename: payload, changed: true, durability: 'QUEUED', interactive: interactive as DataField };
  };
}

// cached returns the cached fields of a subject.
function cached({ biz, bizId }: Subject, cache: Cache): Interactive | undefined {
  const entity = cache.keyOfEntity({ __typename: 'Interactive', biz, bizId });
  if (!entity || cache.inspectFields(entity).length === 0) return undefined;
  const card: Record<string, unknown> = { biz, bizId };
  for (const field of counts) {
    const value = cache.resolve(entity, field);
    if (typeof value === 'number') card[field] = value;
  }
  const below = (of: string, field: string) => cache.resolve(of, field) as string | null | undefined;
  const liked = below(entity, 'liked');
  if (liked !== undefined) card['liked'] = liked && { reaction: cache.resolve(liked, 'reaction') };
  const collected = below(entity, 'collected');
  if (collected !== undefined) card['collected'] = collected && {};
  const followed = below(entity, 'followed');
  if (followed !== undefined) card['followed'] = followed && {};
  return card as unknown as Interactive;
}

// folderOf returns the folder that a mutation collects into: the default folder if it
// names none.
function folderOf({ folderId }: Input, cache: Cache): { id: string; name?: string } {
  if (!folderId) return { id: 'default', name: 'Default' };
  const known = cache.resolve(cache.keyOfEntity({ __typename: 'Folder', id: folderId }), 'name');
  return { id: folderId, ...(known === undefined && { name: '…' }) };
}

// The mutations after which folders and their items are refetched, because the number of
// items in each has changed.
export const updates: UpdatesConfig = {
  Mutation: {
    collect: forgetFolders,
    uncollect: forgetFolders,
    createFolder: forgetFolders,
    deleteFolder: forgetFolder,
  },
};

function forgetFolders(_result: unknown, _args: unknown, cache: Cache, info: ResolveInfo): void {
  if (info.optimistic) return; // not confirmed yet
  const viewer = cache.resolve('Query', 'viewer');
  if (typeof viewer === 'string') forget(cache, viewer, ['folders']);
  for (const field of cache.inspectFields('Query')) {
    if (field.fieldName !== 'folder') continue;
    const folder = cache.resolve('Query', 'folder', field.arguments);
    if (typeof folder === 'string') forget(cache, folder, ['items', 'itemCount']);
  }
}

// forgetFolder also has the former items of a deleted folder refetched.
function forgetFolder(result: unknown, args: Variables, cache: Cache, info: ResolveInfo): void {
  forgetFolders(result, args, cache, info);
  if (!info.optimistic) cache.invalidate({ __typename: 'Folder', id: (args['input'] as { id: string }).id });
}

function forget(cache: Cache, entity: string, fields: readonly string[]): void {
  for (const field of cache.inspectFields(entity)) {
    if (fields.includes(field.fieldName)) cache.invalidate(entity, field.fieldKey);
  }
}
