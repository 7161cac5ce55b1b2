import type { Watched } from '@ovation/client';
import { useMemo } from 'react';
import { useStore } from '../api/store';
import { isClipId } from '../api/subject';
import type { ClipFragment } from '../operations';
import { find, isListed, type Item } from '../content/catalogue';
import { t } from '../messages';
import { useSession } from '../session';

type Found = Pick<ClipFragment, 'title' | 'coverUrl'> | null | undefined;

const none: Watched<Found> = { get: () => null, watch: () => () => {} };

// useItem returns the content of a subject: an entry of the catalogue, or a clip with its
// cover.
export function useItem(biz: string, bizId: string): { item: Item; coverUrl?: string } {
  const { connection, known } = useSession();
  const asks = known && biz === 'video' && isClipId(bizId) && !isListed({ biz, bizId });
  const clip = useStore(useMemo(() => (asks ? connection.clips.of(bizId) : none), [asks, connection, bizId]));
  return useMemo(() => {
    const item = find(biz, bizId);
    if (!clip) return { item: asks ? { ...item, title: clip === null ? t.clips.deleted : t.clips.unknown } : item };
    return { item: { ...item, title: clip.title }, coverUrl: clip.coverUrl };
  }, [biz, bizId, clip, asks]);
}
