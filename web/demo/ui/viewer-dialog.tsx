import { useState, type FormEvent } from 'react';
import { anonymous, type Viewer } from '../../viewer';
import { Store, useStore } from '../api/store';
import { t } from '../messages';
import { useSession } from '../session';
import { AccountForm } from './account-form';
import { AccountPanel } from './account-panel';
import { Avatar } from './avatar';
import { Dialog } from './dialog';
import { Marked } from './marked';

type Kind = 'login' | 'account' | 'switch';

const open = new Store<Kind | null>(null);

// openLogin opens the dialog for logging in, openAccount the one for an account, and
// openSwitch, in development, the one for acting as somebody else.
export const openLogin = () => open.set('login');
export const openAccount = () => open.set('account');
export const openSwitch = () => open.set('switch');

// Users of the demo data.
const people = ['alice', 'bob', 'carol'];

// ViewerDialogs are the dialogs about the viewer, of which one at a time is open.
export function ViewerDialogs() {
  const { account } = useSession();
  const kind = useStore(open);
  const close = () => open.set(null);
  if (kind === 'switch') return <SwitchDialog onClose={close} />;
  if (kind === 'account' && account) {
    return (
      <Dialog title={t.account.title} onClose={close}>
        <AccountPanel onClose={close} />
      </Dialog>
    );
  }
  return kind && <LoginDialog onClose={close} />;
}

// LoginDialog logs in with an account on this site. If the server accepts only tokens, a
// token of another issuer serves as well.
function LoginDialog({ onClose }: { onClose: () => void }) {
  const { tokensOnly, refusal, userId, known, change } = useSession();
  const [byToken, setByToken] = useState(refusal !== null);
  const switchTo = (viewer: Viewer) => {
    change(viewer);
    onClose();
  };
  return (
    <Dialog title={t.logIn} onClose={onClose}>
      {byToken ? <TokenForm onToken={(token) => switchTo({ user: '', token })} /> : <AccountForm onDone={onClose} />}
      <p className="dialog-foot">
        {tokensOnly ? (
          <button type="button" className="button quiet" onClick={() => setByToken(!byToken)}>
            {byToken ? t.login.useAccount : t.login.useToken}
          </button>
        ) : (
          <button type="button" className="button quiet" onClick={openSwitch}>
            {t.login.actAsDemoUser}
          </button>
        )}
        {tokensOnly && known && userId !== null && (
          <button type="button" className="button quiet" onClick={() => switchTo(anonymous)}>
            {t.account.logOut}
          </button>
        )}
      </p>
    </Dialog>
  );
}

// SwitchDialog offers to act as any user, which the development server permits without a
// password.
function SwitchDialog({ onClose }: { onClose: () => void }) {
  const { userId, change } = useSession();
  const switchTo = (user: string) => {
    change({ user, token: '' });
    onClose();
  };
  return (
    <Dialog title={t.actAs.title} onClose={onClose}>
      <NameForm now={userId} onName={switchTo} />
      <p className="dialog-foot">
        <button type="button" className="button quiet" onClick={() => switchTo('')}>
          {t.actAs.anonymous}
        </button>
        <button type="button" className="button quiet" onClick={openLogin}>
          {t.logInOrRegister}
        </button>
      </p>
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
      <p>{t.actAs.hint}</p>
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
          <span>{t.actAs.other}</span>
          <input value={name} maxLength={128} onChange={(event) => setName(event.target.value)} placeholder={t.actAs.placeholder} {...plainText} />
        </label>
        <button type="submit" className="button strong" disabled={!name.trim()}>
          {t.actAs.go}
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
          {t.login.tokenRejected(refusal)}
        </p>
      )}
      <p>{t.login.tokenCommand}</p>
      <pre className="command" tabIndex={0} role="region" aria-label={t.login.command}>
        <code>OVATION_JWT_SECRET=… ovation token --user alice</code>
      </pre>
      <p>
        <Marked text={t.login.tokenOfStack}>{(part) => <code>{part}</code>}</Marked>
      </p>
      <label className="field">
        <span>{t.login.token}</span>
        <textarea rows={4} value={token} maxLength={8192} onChange={(event) => setToken(event.target.value)} placeholder="eyJ…" {...plainText} />
      </label>
      <p className="hint">{t.login.tokenHint}</p>
      <button type="submit" className="button strong" disabled={!token.trim()}>
        {t.login.useThisToken}
      </button>
    </form>
  );
}

// Turns off what browsers do to text fields and is wrong for names and tokens.
const plainText = { autoComplete: 'off', autoCapitalize: 'none', autoCorrect: 'off', spellCheck: false } as const;
