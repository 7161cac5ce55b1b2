import { useEffect, useId, useRef, useState, type FormEvent } from 'react';
import { useStore } from '../api/store';
import { useSession } from '../session';
import { Dialog } from './dialog';
import { Icon } from './icons';
import { cancelUpload, publish, sendAgain, sending, sendUntilPublished, uploading, type Sending } from './uploads';
import { openLogin } from './viewer-dialog';

// openUpload opens the dialog for publishing a clip.
export const openUpload = () => uploading.set(true);

const maxTitle = 150; // characters of a title

// UploadButton opens the dialog and shows the progress of an upload.
export function UploadButton() {
  const { connection, userId, known } = useSession();
  const state = useStore(sending);
  const shown = useStore(uploading);
  useEffect(() => sendUntilPublished(connection), [connection]);
  const percent = state && !state.failure ? `${Math.floor(state.share * 100)} %` : undefined;
  return (
    <>
      <button
        type="button"
        className="button upload-button"
        disabled={!known}
        data-state={state ? (state.failure ? 'failed' : 'sending') : undefined}
        aria-label={percent ? `Upload, ${percent} sent` : state ? 'Upload failed. Show it' : 'Upload a clip'}
        onClick={() => (userId === null ? openLogin() : openUpload())}
      >
        <Icon name={state?.failure ? 'close' : 'plus'} />
        <span className="upload-label">{percent ?? 'Upload'}</span>
      </button>
      {shown && userId !== null && (
        <Dialog title="Upload a clip" onClose={() => uploading.set(false)}>
          {state ? <Progress state={state} /> : <UploadForm onSend={(file, title) => publish(connection, file, title)} />}
        </Dialog>
      )}
    </>
  );
}

function UploadForm({ onSend }: { onSend: (file: File, title: string) => void }) {
  const [file, setFile] = useState<File>();
  const [title, setTitle] = useState('');
  const [over, setOver] = useState(false);
  const hint = useId();
  const left = maxTitle - [...title].length;
  const fit = file !== undefined && title.trim() !== '' && left >= 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (fit) onSend(file, title.trim());
  };
  const drop = (event: React.DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [dropped] = event.dataTransfer.files;
    if (dropped) setFile(dropped);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <label
        className="upload-file"
        data-over={over || undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <input type="file" accept="video/mp4,video/webm,video/quicktime,.mp4,.webm,.mov" aria-label={file ? 'Choose another video' : 'Choose a video'} aria-describedby={hint} onChange={(event) => setFile(event.target.files?.[0])} />
        {file ? (
          <Preview file={file} />
        ) : (
          <>
            <Icon name="film" />
            <span>Choose a video, or drop one here</span>
          </>
        )}
      </label>
      <p className="hint" id={hint}>
        {file ? `${file.name}, ${size(file.size)}` : 'MP4, WebM or QuickTime. Upright ones fill the screen.'}
      </p>
      <label className="field">
        <span>Title</span>
        <textarea rows={2} value={title} dir="auto" required onChange={(event) => setTitle(event.target.value)} />
      </label>
      {left < 40 && <p className={left < 0 ? 'problem' : 'hint'}>{left < 0 ? `${-left} characters too many.` : `${left} characters left.`}</p>}
      <button type="submit" className="button strong" disabled={!fit}>
        Publish
      </button>
    </form>
  );
}

// Preview plays the chosen file, muted.
function Preview({ file }: { file: File }) {
  const video = useRef<HTMLVideoElement>(null);
  useEffect(() => {
    const url = URL.createObjectURL(file);
    const element = video.current!;
    element.muted = true;
    element.src = url;
    void element.play().catch(() => {}); // the server decides whether the file is valid
    return () => {
      element.removeAttribute('src');
      URL.revokeObjectURL(url);
    };
  }, [file]);
  return <video ref={video} loop playsInline aria-hidden="true" tabIndex={-1} />;
}

function Progress({ state: { upload, share, failure } }: { state: Sending }) {
  const { connection } = useSession();
  const [last, setLast] = useState(0); // last quarter that was announced
  const quarter = Math.floor(share * 4);
  useEffect(() => setLast(quarter), [quarter]);
  if (failure) {
    return (
      <div className="stack">
        <p className="picker-what">{upload.title}</p>
        <p className="problem" role="alert">
          {failure.text}
        </p>
        <p className="dialog-foot">
          {failure.retry && (
            <button type="button" className="button strong" onClick={() => sendAgain(connection)}>
              Try again
            </button>
          )}
          {failure.signIn && (
            <button type="button" className="button strong" onClick={openLogin}>
              Log in
            </button>
          )}
          <button type="button" className="button quiet" onClick={cancelUpload}>
            {failure.retry ? 'Cancel' : 'Choose another one'}
          </button>
        </p>
      </div>
    );
  }
  const sent = Math.floor(share * upload.file.size);
  return (
    <div className="stack">
      <p className="picker-what">{upload.title}</p>
      <progress className="upload-progress" max={1} value={share} aria-label="Upload" />
      <p className="hint">{share < 1 ? `${size(sent)} of ${size(upload.file.size)}` : 'Sent. The server is checking it.'}</p>
      <span className="unseen" role="status">
        {last > 0 && last < 4 ? `${last * 25} percent sent` : ''}
      </span>
      <p className="dialog-foot">
        <button type="button" className="button" onClick={cancelUpload}>
          Cancel the upload
        </button>
        <span>You can close this dialog: the upload continues.</span>
      </p>
    </div>
  );
}

function size(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
