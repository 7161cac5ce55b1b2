import type { Subject } from '@ovation/client';

export { keyOf, type Subject } from '@ovation/client';

// isContent tells what the page shows as a card from comments and people, which
// are subjects as well.
export function isContent({ biz }: Subject): boolean {
  return biz !== 'comment' && biz !== 'user';
}
