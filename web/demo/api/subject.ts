import type { Subject } from '@ovation/client';

export { keyOf, type Subject } from '@ovation/client';

// isContent distinguishes subjects that the page shows as cards from comments and people,
// which are subjects as well.
export function isContent({ biz }: Subject): boolean {
  return biz !== 'comment' && biz !== 'user';
}
