import { Store } from '../api/store';

// sound is whether clips play with sound: off until the viewer turns it on, then on for
// all clips.
export const sound = new Store(false);

// autoplays reports whether clips start by themselves: not for viewers who prefer reduced
// motion or save data.
export function autoplays(): boolean {
  const { saveData } = (navigator as { connection?: { saveData?: boolean } }).connection ?? {};
  return !saveData && !matchMedia('(prefers-reduced-motion: reduce)').matches;
}
