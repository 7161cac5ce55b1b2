import type { KeyboardEvent } from 'react';

// sends reports whether a key sends what was written: Enter, but not with Shift, which
// starts a new line, nor while an input method composes a character.
export function sends({ key, shiftKey, nativeEvent }: KeyboardEvent): boolean {
  return key === 'Enter' && !shiftKey && !nativeEvent.isComposing;
}
