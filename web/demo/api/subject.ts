import type { Subject } from '@ovation/client';

export { keyOf, type Subject } from '@ovation/client';

// isContent distinguishes subjects that the page shows as cards from comments and people,
// which are subjects as well.
export function isContent({ biz }: Subject): boolean {
  return biz !== 'comment' && biz !== 'user';
}

// isClipId reports whether an id has the form of the ids of videos on this site. Subjects of
// the kind video with other ids belong to the content service of an app.
export const isClipId = (bizId: string) => /^\d{9,16}$/.test(bizId);
