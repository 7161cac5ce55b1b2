import { useState, type FormEvent } from 'react';
import { useClient } from 'urql';
import { advise } from '../api/advice';
import { t } from '../messages';
import { ChangePasswordDocument, LogOutEverywhereDocument, UpdateProfileDocument } from '../operations';
import { useSession } from '../session';
import { Avatar } from './avatar';
import { AvatarForm } from './avatar-form';
import { Icon } from './icons';
import { useName, useProfile } from './name';
import { showFailure, announce } from './notices';

// AccountPanel shows an account to its owner and lets them change it.
export function AccountPanel({ onClose }: { onClose: () => void }) {
  const { userId, logOut } = useSession();
  const client = useClient();
  const name = useName(userId);
  const profile = useProfile(userId);
  const [part, setPart] = useState<'profile' | 'password'>();
  const everywhere = async () => {
    const { error } = await client.mutation(LogOutEverywhereDocument, {}).toPromise();
    if (error) return showFailure(t.attempts.logOutEverywhere, error, () => void everywhere());
    onClose();
    logOut();
  };
  const leave = () => {
    onClose();
    logOut();
  };
  return (
    <>
      <p className="account-who">
        <Avatar name={name} picture={profile?.avatarUrl} />
        <span>{name}</span>
      </p>
      <Part title={t.account.profile} open={part === 'profile'} onToggle={(open) => setPart(open ? 'profile' : undefined)}>
        {profile && <AvatarForm profile={profile} />}
        {profile && <ProfileForm profile={profile} onDone={() => setPart(undefined)} />}
      </Part>
      <Part title={t.account.password} open={part === 'password'} onToggle={(open) => setPart(open ? 'password' : undefined)}>
        <PasswordForm onDone={onClose} />
      </Part>
      <p className="dialog-foot">
        <button type="button" className="button strong" onClick={leave}>
          {t.account.logOut}
        </button>
        <button type="button" className="button quiet" onClick={() => void everywhere()}>
          {t.account.logOutEverywhere}
        </button>
      </p>
    </>
  );
}

function Part({ title, open, onToggle, children }: { title: string; open: boolean; onToggle: (open: boolean) => void; children: React.ReactNode }) {
  return (
    <div className="account-part">
      <button type="button" className="account-toggle" aria-expanded={open} onClick={() => onToggle(!open)}>
        {title}
        <Icon name={open ? 'close' : 'plus'} />
      </button>
      {open && children}
    </div>
  );
}

function ProfileForm({ profile, onDone }: { profile: { readonly name: string; readonly signature: string }; onDone: () => void }) {
  const { connection, userId } = useSession();
  const client = useClient();
  const [name, setName] = useState(profile.name);
  const [signature, setSignature] = useState(profile.signature);
  const [problem, setProblem] = useState('');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { data, error } = await client.mutation(UpdateProfileDocument, { input: { name: name.trim(), signature: signature.trim() } }).toPromise();
    if (error) return setProblem(advise(error).text);
    if (!data) return;
    connection.profiles.learn(userId!, data.updateProfile.user.profile);
    announce(t.account.profileSaved);
    onDone();
  };
  return (
    <form className="stack" onSubmit={(event) => void submit(event)}>
      <label className="field">
        <span>{t.account.name}</span>
        <input value={name} maxLength={64} autoComplete="username" required onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="field">
        <span>{t.account.signature}</span>
        <textarea rows={3} value={signature} maxLength={200} onChange={(event) => setSignature(event.target.value)} />
      </label>
      <Problem text={problem} />
      <button type="submit" className="button strong" disabled={!name.trim()}>
        {t.save}
      </button>
    </form>
  );
}

function PasswordForm({ onDone }: { onDone: () => void }) {
  const { logIn } = useSession();
  const client = useClient();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [problem, setProblem] = useState('');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { data, error } = await client.mutation(ChangePasswordDocument, { input: { currentPassword: current, newPassword: next } }).toPromise();
    if (error) return setProblem(advise(error).text);
    if (!data) return;
    announce(t.account.passwordChanged);
    onDone();
    logIn(data.changePassword);
  };
  return (
    <form className="stack" onSubmit={(event) => void submit(event)}>
      <label className="field">
        <span>{t.account.currentPassword}</span>
        <input type="password" value={current} maxLength={128} autoComplete="current-password" required onChange={(event) => setCurrent(event.target.value)} />
      </label>
      <label className="field">
        <span>{t.account.newPassword}</span>
        <input type="password" value={next} minLength={6} maxLength={128} autoComplete="new-password" required onChange={(event) => setNext(event.target.value)} />
      </label>
      <Problem text={problem} />
      <button type="submit" className="button strong" disabled={!current || [...next].length < 6}>
        {t.account.changePassword}
      </button>
      <p className="hint">{t.account.passwordHint}</p>
    </form>
  );
}

function Problem({ text }: { text: string }) {
  if (!text) return null;
  return (
    <p className="problem" role="alert">
      {text}
    </p>
  );
}
