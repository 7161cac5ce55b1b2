import { useEffect, useId, useRef, useState, type FormEvent } from 'react';
import { useStore } from '../api/store';
import { t } from '../messages';
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
  const percent = state && !state.failure ? t.format.percent(state.share) : undefined;
  return (
    <>
      <button
        type="button"
        className="button upload-button"
        disabled={!known}
        data-state={state ? (state.failure ? 'failed' : 'sending') : undefined}
        aria-label={!state ? t.upload.title : state.failure ? t.upload.failed : t.upload.progress(state.share)}
        onClick={() => (userId === null ? openLogin() : openUpload())}
      >
        <Icon name={state?.failure ? 'close' : 'plus'} />
        <span className="upload-label">{percent ?? t.upload.label}</span>
      </button>
      {shown && userId !== null && (
        <Dialog title={t.upload.title} onClose={() => uploading.set(false)}>
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
        <input type="file" accept="video/mp4,video/webm,video/quicktime,.mp4,.webm,.mov" aria-label={file ? t.upload.chooseOther : t.upload.choose} aria-describedby={hint} onChange={(event) => setFile(event.target.files?.[0])} />
        {file ? (
          <Preview file={file} />
        ) : (
          <>
            <Icon name="film" />
            <span>{t.upload.drop}</span>
          </>
        )}
      </label>
      <p className="hint" id={hint}>
        {file ? t.upload.file(file.name, file.size) : t.upload.hint}
      </p>
      <label className="field">
        <span>{t.upload.clipTitle}</span>
        <textarea rows={2} value={title} dir="auto" required onChange={(event) => setTitle(event.target.value)} />
      </label>
      {left < 40 && <p className={left < 0 ? 'problem' : 'hint'}>{left < 0 ? t.charactersTooMany(-left) : t.charactersLeft(left)}</p>}
      <button type="submit" className="button strong" disabled={!fit}>
        {t.upload.publish}
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
              {t.tryAgain}
            </button>
          )}
          {failure.signIn && (
            <button type="button" className="button strong" onClick={openLogin}>
              {t.logIn}
            </button>
          )}
          <button type="button" className="button quiet" onClick={cancelUpload}>
            {failure.retry ? t.cancel : t.upload.another}
          </button>
        </p>
      </div>
    );
  }
  const sent = Math.floor(share * upload.file.size);
  return (
    <div className="stack">
      <p className="picker-what">{upload.title}</p>
      <progress className="upload-progress" max={1} value={share} aria-label={t.upload.label} />
      <p className="hint">{share < 1 ? t.upload.sent(sent, upload.file.size) : t.upload.checking}</p>
      <span className="unseen" role="status">
        {last > 0 && last < 4 ? t.upload.percentSent(last * 25) : ''}
      </span>
      <p className="dialog-foot">
        <button type="button" className="button" onClick={cancelUpload}>
          {t.upload.cancel}
        </button>
        <span>{t.upload.continues}</span>
      </p>
    </div>
  );
}
