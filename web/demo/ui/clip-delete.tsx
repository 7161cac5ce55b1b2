import { useState } from 'react';
import { useClient } from 'urql';
import { t } from '../messages';
import { DeleteVideoDocument, type ClipFragment } from '../operations';
import { links } from '../route';
import { Dialog } from './dialog';
import { showFailure, announce } from './notices';

// ClipDelete asks for confirmation before it deletes a clip and its file.
export function ClipDelete({ clip, alone, onClose }: { clip: ClipFragment; alone: boolean; onClose: () => void }) {
  const client = useClient();
  const [busy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    const { error } = await client.mutation(DeleteVideoDocument, { input: { videoId: clip.videoId } }).toPromise();
    setBusy(false);
    onClose();
    if (error) return showFailure(t.attempts.delete(clip.title), error, () => void remove());
    announce(t.clips.deletedIt);
    if (alone) location.hash = links.clips;
  };
  return (
    <Dialog title={t.clips.deleteTitle} onClose={onClose}>
      <p className="picker-what">{clip.title}</p>
      <p>{t.clips.deleteHint}</p>
      <p className="dialog-foot">
        <button type="button" className="button strong" aria-busy={busy} disabled={busy} onClick={() => void remove()}>
          {t.deleteIt}
        </button>
        <button type="button" className="button quiet" onClick={onClose}>
          {t.keepIt}
        </button>
      </p>
    </Dialog>
  );
}
