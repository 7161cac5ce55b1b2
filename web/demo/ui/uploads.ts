import { Retries } from '@ovation/client';
import { Store } from '../api/store';
import { Upload, type UploadFailure } from '../api/upload';
import type { Connection } from '../api/connection';
import { t } from '../messages';
import { ClipsDocument } from '../operations';
import { links } from '../route';
import { announce } from './notices';

// Sending is the current upload, or the one that failed. There is only one at a time; it
// continues while its dialog is closed.
export interface Sending {
  readonly upload: Upload;
  readonly share: number; // share of the file that is sent, from 0 to 1
  readonly failure?: UploadFailure;
}

export const sending = new Store<Sending | null>(null);

// uploading is whether the dialog is open.
export const uploading = new Store(false);

// publish uploads a file, and shows the clip once it is published.
export function publish(connection: Connection, file: File, title: string): void {
  void send(connection, new Upload(connection, file, title));
}

export function sendAgain(connection: Connection): void {
  const failed = sending.get();
  if (failed?.failure) void send(connection, failed.upload);
}

// sendUntilPublished sends an upload again if the server did not respond, see Retries, until
// the returned function is called. That cancels it: an upload belongs to one viewer.
export function sendUntilPublished(connection: Connection): () => void {
  const retries = new Retries<'upload'>(connection, () => sendAgain(connection));
  const unwatch = sending.watch(() => {
    const state = sending.get();
    if (state?.failure?.network) retries.failed('upload');
    else if (!state || state.failure) retries.done('upload');
  });
  return () => {
    unwatch();
    retries.stop();
    cancelUpload();
  };
}

export function cancelUpload(): void {
  sending.get()?.upload.cancel();
  sending.set(null);
}

async function send(connection: Connection, upload: Upload): Promise<void> {
  sending.set({ upload, share: 0 });
  const outcome = await upload.send((sent, total) => {
    if (sending.get()?.upload === upload) sending.set({ upload, share: total > 0 ? sent / total : 0 });
  });
  if (!outcome || sending.get()?.upload !== upload) return; // cancelled
  if ('text' in outcome) return sending.set({ upload, share: 0, failure: outcome });
  sending.set(null);
  uploading.set(false);
  announce(t.upload.published(outcome.title));
  location.hash = links.clip(outcome.videoId);
  void connection.client.query(ClipsDocument, { first: 10, after: null }, { requestPolicy: 'network-only' }).toPromise();
}
