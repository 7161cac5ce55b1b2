import { Store } from '../api/store';

// sound is whether clips are heard: off until the viewer asks for it, then on for all
// of them.
export const sound = new Store(false);

// autoplays reports whether clips start by themselves: not for viewers who want little
// motion, or to save data.
export function autoplays(): boolean {
  const { saveData } = (navigator as { connection?: { saveData?: boolean } }).connection ?? {};
  return !saveData && !matchMedia('(prefers-reduced-motion: reduce)').matches;
}
