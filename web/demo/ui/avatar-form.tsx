import { useRef, useState } from 'react';
import { useClient } from 'urql';
import { advise } from '../api/advice';
import { uploadAvatar } from '../api/avatar';
import { t } from '../messages';
import { ProfileOfDocument, UpdateProfileDocument, type NamedFragment } from '../operations';
import { useSession } from '../session';
import { Avatar } from './avatar';
import { announce } from './notices';

// AvatarForm shows the picture of the viewer's profile, and lets the viewer change or remove
// it.
export function AvatarForm({ profile }: { profile: NonNullable<NamedFragment['profile']> }) {
  const { connection, userId } = useSession();
  const client = useClient();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const removal = useRef<HTMLButtonElement>(null);

  const change = async (attempt: () => Promise<string | undefined>, done: string) => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    const failure = await attempt();
    setBusy(false);
    if (failure === undefined) announce(done);
    else setProblem(failure);
  };
  const upload = (file: File) =>
    change(async () => {
      const failure = await uploadAvatar(connection, file);
      if (failure !== undefined) return failure;
      const { data } = await client.query(ProfileOfDocument, { userId: userId! }, { requestPolicy: 'network-only' }).toPromise();
      if (data) connection.profiles.learn(userId!, data.user.profile);
      return undefined;
    }, t.account.pictureSaved);
  const remove = () =>
    change(async () => {
      const { data, error } = await client.mutation(UpdateProfileDocument, { input: { avatarUrl: '' } }).toPromise();
      if (data) {
        if (document.activeElement === removal.current) field.current?.focus(); // the button goes
        connection.profiles.learn(userId!, data.updateProfile.user.profile);
      }
      return error && advise(error).text;
    }, t.account.pictureRemoved);

  return (
    <div className="avatar-form" role="group" aria-label={t.account.picture} aria-busy={busy}>
      <Avatar name={profile.name} picture={profile.avatarUrl} size="large" />
      <label className="button">
        <input
          ref={field}
          type="file"
          className="unseen"
          accept="image/jpeg,image/png,image/gif,image/webp"
          aria-disabled={busy}
          onClick={(event) => busy && event.preventDefault()}
          onChange={(event) => {
            const file = event.target.files?.[0];
            event.target.value = ''; // so that the same file can be chosen again
            if (file) void upload(file);
          }}
        />
        {t.account.changePicture}
      </label>
      {profile.avatarUrl && (
        <button ref={removal} type="button" className="button quiet" aria-disabled={busy} onClick={() => void remove()}>
          {t.account.removePicture}
        </button>
      )}
      <p role="status">{busy && t.account.pictureBusy}</p>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
