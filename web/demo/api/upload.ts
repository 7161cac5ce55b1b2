import { t } from '../messages';
import type { Connection } from './connection';
import { requestId } from './request-id';

// Published is a video as returned for an upload.
export interface Published {
  readonly videoId: string;
  readonly title: string;
}

// UploadFailure says why an upload did not succeed. If that is not certain, sending the same
// upload again is safe.
export interface UploadFailure {
  readonly text: string;
  readonly retry: boolean; // whether a retry may succeed
  readonly network: boolean; // whether the server did not respond
  readonly signIn: boolean;
}

// Upload sends one file, with the same request id at each attempt.
export class Upload {
  private readonly id = requestId();
  private request: XMLHttpRequest | undefined;

  constructor(
    private readonly connection: Connection,
    readonly file: File,
    readonly title: string,
  ) {}

  // send reports how many bytes of the file were sent, and returns the outcome: undefined if
  // it was cancelled. It does not use fetch, which does not report progress.
  send(onProgress: (sent: number, total: number) => void): Promise<Published | UploadFailure | undefined> {
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      this.request = request;
      request.open('POST', '/media/videos');
      for (const [name, value] of Object.entries(this.connection.headers())) request.setRequestHeader(name, value);
      request.responseType = 'json';
      request.upload.onprogress = (event) => onProgress(event.loaded, event.total);
      request.onabort = () => resolve(undefined);
      request.onerror = () => resolve(unanswered());
      request.onload = () => resolve(outcome(request));
      const form = new FormData();
      form.set('title', this.title);
      form.set('requestId', this.id);
      form.set('file', this.file);
      request.send(form);
    });
  }

  cancel(): void {
    this.request?.abort();
  }
}

function unanswered(): UploadFailure {
  const text = navigator.onLine ? t.upload.lost : t.upload.offline;
  return { text, retry: true, network: true, signIn: false };
}

interface Answer {
  readonly video?: Published;
  readonly errors?: readonly { readonly message: string; readonly extensions: { readonly code: string } }[];
}

const final = { retry: false, network: false, signIn: false };

function outcome({ response }: XMLHttpRequest): Published | UploadFailure {
  const { video, errors } = (response ?? {}) as Answer;
  if (video) return video;
  const error = errors?.[0];
  const said = error ? `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.` : t.upload.rejected;
  switch (error?.extensions.code) {
    case 'UNAUTHENTICATED':
      return { ...final, text: t.upload.logIn, signIn: true };
    case 'RATE_LIMITED':
    case 'UNAVAILABLE':
      return { ...final, text: t.errors.isUnavailable, retry: true };
    case 'BAD_USER_INPUT':
      return { ...final, text: t.errors.badInput(said) };
    case 'LIMIT_EXCEEDED':
      return { ...final, text: t.upload.limitExceeded(said) };
    case 'NOT_FOUND':
      return { ...final, text: t.clips.noVideos };
    default:
      return { ...final, text: error ? t.upload.other(said) : said, retry: true };
  }
}
