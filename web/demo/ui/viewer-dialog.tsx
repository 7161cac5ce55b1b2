import { useState, type FormEvent } from 'react';
import { anonymous } from '../../viewer';
import { Store, useStore } from '../api/store';
import { useSession } from '../session';
import { AccountForm } from './account-form';
import { AccountPanel } from './account-panel';
import { Avatar } from './avatar';
import { Dialog } from './dialog';

const open = new Store(false);

// openLogin opens the dialog for logging in.
export const openLogin = () => open.set(true);

// Users of the demo data.
const people = ['alice', 'bob', 'carol'];

// ViewerDialog logs in or out. If the server accepts names, or tokens of other issuers,
// it offers those as well.
export function ViewerDialog() {
  const { tokensOnly, account, userId, known, change } = useSession();
  if (!useStore(open)) return null;
  const close = () => open.set(false);
  const switchTo = (viewer: { user: string; token: string }) => {
    change(viewer);
    close();
  };
  if (account) {
    return (
      <Dialog title="Your account" onClose={close}>
        <AccountPanel onClose={close} />
      </Dialog>
    );
  }
  return (
    <Dialog title="Log in" onClose={close}>
      <AccountForm onDone={close} />
      <div className="account-part stack">
        {tokensOnly ? <TokenForm onToken={(token) => switchTo({ user: '', token })} /> : <NameForm now={userId} onName={(user) => switchTo({ user, token: '' })} />}
      </div>
      {known && userId !== null && (
        <p className="dialog-foot">
          <button type="button" className="button quiet" onClick={() => switchTo(anonymous)}>
            Continue without logging in
          </button>
          <span>You can see counts, but not act.</span>
        </p>
      )}
    </Dialog>
  );
}

function NameForm({ now, onName }: { now: string | null; onName: (user: string) => void }) {
  const [name, setName] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim()) onName(name.trim());
  };
  return (
    <>
      <p>Or act as a user of the demo: the development server accepts any name without a password.</p>
      <ul className="people">
        {people.map((person) => (
          <li key={person}>
            <button type="button" aria-pressed={person === now} onClick={() => onName(person)}>
              <Avatar name={person} />
              {person}
            </button>
          </li>
        ))}
      </ul>
      <form className="field-row" onSubmit={submit}>
        <label className="field">
          <span>Another user</span>
          <input value={name} maxLength={128} onChange={(event) => setName(event.target.value)} placeholder="any user id" {...plainText} />
        </label>
        <button type="submit" className="button strong" disabled={!name.trim()}>
          Go
        </button>
      </form>
    </>
  );
}

function TokenForm({ onToken }: { onToken: (token: string) => void }) {
  const [token, setToken] = useState('');
  const { refusal } = useSession();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim()) onToken(token.trim());
  };
  return (
    <form className="stack" onSubmit={submit}>
      {refusal && (
        <p className="problem" role="alert">
          The last token was rejected: {refusal}.
        </p>
      )}
      <p>Or use a token. With the secret of this server, the following command makes one for the user alice that is valid for a day:</p>
      <pre className="command" tabIndex={0} role="region" aria-label="Command">
        <code>OVATION_JWT_SECRET=… ovation token --user alice</code>
      </pre>
      <p>
        <code>make stack</code> prints one when it starts.
      </p>
      <label className="field">
        <span>Token</span>
        <textarea rows={4} value={token} maxLength={8192} onChange={(event) => setToken(event.target.value)} placeholder="eyJ…" {...plainText} />
      </label>
      <p className="hint">It is stored in this browser tab only, and forgotten when the tab is closed.</p>
      <button type="submit" className="button strong" disabled={!token.trim()}>
        Use this token
      </button>
    </form>
  );
}

// Turns off what browsers do to text fields and is wrong for names and tokens.
const plainText = { autoComplete: 'off', autoCapitalize: 'none', autoCorrect: 'off', spellCheck: false } as const;
