import { useSyncExternalStore } from 'react';
import { Value, type Watched } from '@ovation/client';

// Store is a value that components can subscribe to.
export const Store = Value;
export type Store<T> = Value<T>;

// useStore returns the store's value and renders again when it changes.
export function useStore<T>(store: Watched<T>): T {
  return useSyncExternalStore(store.watch, store.get);
}
