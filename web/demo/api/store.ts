import { useSyncExternalStore } from 'react';
import { Value, type Watched } from '@ovation/client';

// Store is a value that components can watch.
export const Store = Value;
export type Store<T> = Value<T>;

// useStore renders anew whenever the store's value changes.
export function useStore<T>(store: Watched<T>): T {
  return useSyncExternalStore(store.watch, store.get);
}
