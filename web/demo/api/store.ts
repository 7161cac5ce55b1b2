import { useSyncExternalStore } from 'react';

// Store is a value that components can watch.
export class Store<T> {
  private readonly watchers = new Set<() => void>();

  constructor(private value: T) {}

  readonly get = (): T => this.value;

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const changed of this.watchers) changed();
  }

  readonly watch = (changed: () => void): (() => void) => {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  };
}

// useStore renders anew whenever the store's value changes.
export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.watch, store.get);
}
