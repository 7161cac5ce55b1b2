import type { Freshness } from '@ovation/client';

// isKnown reports whether counts of this freshness can be displayed. Those that are
// UNAVAILABLE or HIDDEN are zeros as placeholders.
export function isKnown(freshness: Freshness): boolean {
  return freshness !== 'UNAVAILABLE' && freshness !== 'HIDDEN';
}
