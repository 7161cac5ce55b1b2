import type { Status } from './connect.js';
import type { Watched } from './value.js';

// Live is anything with a status, such as a Socket.
export interface Live {
  readonly status: Watched<Status>;
}

// The least time between two calls after a loss, in milliseconds: a connection that is lost
// again and again causes no more.
const apart = 5_000;

// whenLive calls back each time the connection becomes live, and passes whether it was
// lost before: then anything may have changed since the last response. It returns a
// function that stops this.
export function whenLive({ status }: Live, callback: (lost: boolean) => void): () => void {
  let before = status.get().state;
  let lost = false;
  let last = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const call = () => {
    clearTimeout(timer);
    if (status.get().state !== 'live') return; // it is called when it is live again
    const wasLost = lost;
    if (wasLost) {
      const wait = last + apart - Date.now();
      if (wait > 0) {
        timer = setTimeout(call, wait);
        return;
      }
      last = Date.now();
      lost = false;
    }
    callback(wasLost);
  };
  const unwatch = status.watch(() => {
    const { state } = status.get();
    if (state === before) return;
    before = state;
    if (state === 'reconnecting' || state === 'offline') lost = true;
    if (state === 'live') call();
  });
  return () => {
    unwatch();
    clearTimeout(timer);
  };
}
