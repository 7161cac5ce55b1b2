// Watched is an observable value. It fits React's
// useSyncExternalStore(value.watch, value.get).
export interface Watched<T> {
  readonly get: () => T;
  // watch calls back after each change. It returns a function that stops this.
  readonly watch: (changed: () => void) => () => void;
}

export class Value<T> implements Watched<T> {
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
