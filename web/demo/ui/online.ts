import { useSyncExternalStore } from 'react';

// useOnline reports whether the machine has a network connection.
export function useOnline(): boolean {
  return useSyncExternalStore(watch, () => navigator.onLine);
}

function watch(changed: () => void) {
  addEventListener('online', changed);
  addEventListener('offline', changed);
  return () => {
    removeEventListener('online', changed);
    removeEventListener('offline', changed);
  };
}
