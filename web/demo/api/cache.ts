import { formatDocument } from '@urql/core';
import { cacheExchange, type Cache, type ResolveInfo, type Variables } from '@urql/exchange-graphcache';
import { CardFragmentDoc, FolderFragmentDoc, type CardFragment, type Reaction } from '../operations';
import type { Subject } from './subject';

// normalisedCache keeps each subject once, wherever it was read, so that a
// mutation or an event about it changes every place that shows it.
export function normalisedCache() {
  const embedded = () => null;
  return cacheExchange({
    keys: {
      Interactive: (data) => `${data['biz']}/${data['bizId']}`,
      PageInfo: embedded,
      LikedConnection: embedded,
      LikedEdge: embedded,
      CollectedConnection: embedded,
      CollectedEdge: embedded,
      FolderConnection: embedded,
      FolderEdge: embedded,
    },
    optimistic: {
      like: guess('LikePayload', (card) => react(card, 'LIKE')),
      unlike: guess('UnlikePayload', (card) => react(card, null)),
      dislike: guess('DislikePayload', (card) => react(card, 'DISLIKE')),
      undislike: guess('UndislikePayload', (card) => react(card, null)),
      collect: guess('CollectPayload', (card, input, cache) => collect(card, folderOf(input, cache))),
      uncollect: guess('UncollectPayload', (card) => collect(card, null)),
    },
    updates: {
      Mutation: {
        collect: forgetFolders,
        uncollect: forgetFolders,
        createFolder: forgetFolders,
      },
    },
  });
}

type Input = Subject & { folderId?: string | null };
type Guess = (card: CardFragment, input: Input, cache: Cache) => CardFragment;

// What is read from the cache here is written to it again, so it says its types.
const typedCard = formatDocument(CardFragmentDoc);

// guess makes what a mutation will probably answer out of what is known.
function guess(payload: string, change: Guess) {
  return (args: Variables, cache: Cache, info: ResolveInfo) => {
    const input = args['input'] as Input;
    const card = cache.readFragment(typedCard, { __typename: 'Interactive', biz: input.biz, bizId: input.bizId }, info.variables);
    if (!card) return null;
    return { __typename: payload, changed: true, durability: 'QUEUED', interactive: { ...change(card, input, cache) } };
  };
}

function react(card: CardFragment, reaction: Reaction | null): CardFragment {
  const before = card.liked?.reaction ?? null;
  const moved = (kind: Reaction) => Number(reaction === kind) - Number(before === kind);
  return {
    ...card,
    likeCount: card.likeCount + moved('LIKE'),
    dislikeCount: card.dislikeCount + moved('DISLIKE'),
    liked: reaction && { __typename: 'Liked', id: `guess/${card.biz}/${card.bizId}`, reaction, at: new Date().toISOString() },
  };
}

function collect(card: CardFragment, folder: { id: string; name: string } | null): CardFragment {
  return {
    ...card,
    collectCount: card.collectCount + Number(folder !== null) - Number(card.collected !== null),
    collected: folder && {
      __typename: 'Collected',
      id: `guess/${card.biz}/${card.bizId}`,
      at: new Date().toISOString(),
      folder: { __typename: 'Folder', ...folder },
    },
  };
}

// folderOf is where a mutation puts something: without an id, the default folder.
function folderOf({ folderId }: Input, cache: Cache): { id: string; name: string } {
  if (!folderId) return { id: 'default', name: 'Default' };
  const known = cache.readFragment(FolderFragmentDoc, { __typename: 'Folder', id: folderId });
  return { id: folderId, name: known?.name ?? '…' };
}

// forgetFolders has folders and what lies in them read again by whoever shows
// them: how many items each holds has changed.
function forgetFolders(_result: unknown, _args: unknown, cache: Cache, info: ResolveInfo) {
  if (info.optimistic) return; // not yet
  const viewer = cache.resolve('Query', 'viewer');
  if (typeof viewer === 'string') forget(cache, viewer, ['folders']);
  for (const field of cache.inspectFields('Query')) {
    if (field.fieldName !== 'folder') continue;
    const folder = cache.resolve('Query', 'folder', field.arguments);
    if (typeof folder === 'string') forget(cache, folder, ['items', 'itemCount']);
  }
}

function forget(cache: Cache, entity: string, fields: readonly string[]) {
  for (const field of cache.inspectFields(entity)) {
    if (fields.includes(field.fieldName)) cache.invalidate(entity, field.fieldKey);
  }
}
