import type { Status } from './connect.js';
import type { Watched } from './value.js';

// Live is anything with a status, such as a Socket.
export interface Live {
  readonly status: Watched<Status>;
}

// whenLive calls back each time the connection becomes live, and passes whether it was
// lost before: then anything may have changed since the last response. It returns a
// function that stops this.
export function whenLive({ status }: Live, callback: (lost: boolean) => void): () => void {
  let before = status.get().state;
  let lost = false;
  return status.watch(() => {
    const { state } = status.get();
    if (state === before) return;
    before = state;
    if (state === 'reconnecting' || state === 'offline') lost = true;
    if (state !== 'live') return;
    const wasLost = lost;
    lost = false;
    callback(wasLost);
  });
}
