import { useId, useState, type FormEvent } from 'react';
import { useClient } from 'urql';
import type { CombinedError } from '@urql/core';
import { advise } from '../api/advice';
import { t } from '../messages';
import { LogInDocument, RegisterDocument } from '../operations';
import { useSession } from '../session';

type Mode = 'register' | 'log in';

const modes = (): Record<Mode, { does: string; asks: string; other: Mode; instead: string; password: string }> => ({
  'log in': { does: t.logIn, asks: t.login.isNew, other: 'register', instead: t.login.createAccount, password: 'current-password' },
  register: { does: t.login.register, asks: t.login.hasAccount, other: 'log in', instead: t.logIn, password: 'new-password' },
});

const minPassword = 6; // characters of a password, as the server requires

// AccountForm registers an account on this site, or logs in to one.
export function AccountForm({ onDone }: { onDone: () => void }) {
  const { ended, logIn } = useSession();
  const client = useClient();
  const [mode, setMode] = useState<Mode>('log in');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const hint = useId();
  const { does, asks, other, instead, password: fill } = modes()[mode];
  const fit = name.trim() !== '' && password !== '' && !busy;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!fit) return;
    if (mode === 'register' && [...password].length < minPassword) return setProblem(t.login.passwordTooShort(minPassword));
    setBusy(true);
    setProblem('');
    const variables = { input: { name: name.trim(), password } };
    const { data, error } =
      mode === 'register'
        ? await client.mutation(RegisterDocument, variables).toPromise()
        : await client.mutation(LogInDocument, variables).toPromise();
    setBusy(false);
    if (error) return setProblem(explain(error));
    if (!data) return;
    onDone();
    logIn('register' in data ? data.register : data.logIn);
  };

  return (
    <form className="stack account-form" onSubmit={(event) => void submit(event)}>
      {ended && (
        <p className="problem" role="status">
          {t.link.sentences([ended, t.login.again])}
        </p>
      )}
      <label className="field">
        <span>{t.login.name}</span>
        <input name="username" value={name} maxLength={64} autoComplete="username" autoCapitalize="none" spellCheck={false} required onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="field">
        <span>{t.login.password}</span>
        <input
          name="password"
          type={shown ? 'text' : 'password'}
          value={password}
          autoComplete={fill}
          maxLength={128}
          required
          aria-describedby={hint}
          onChange={(event) => setPassword(event.target.value)}
        />
      </label>
      <label className="tick">
        <input type="checkbox" checked={shown} onChange={(event) => setShown(event.target.checked)} />
        {t.login.showPassword}
      </label>
      <div id={hint}>
        {problem ? (
          <p className="problem" role="alert">
            {problem}
          </p>
        ) : (
          mode === 'register' && <p className="hint">{t.login.hint(minPassword)}</p>
        )}
      </div>
      <button type="submit" className="button strong" disabled={!fit} aria-busy={busy}>
        {does}
      </button>
      <p className="hint">
        {asks}{' '}
        <button
          type="button"
          className="link"
          onClick={() => {
            setMode(other);
            setProblem('');
          }}
        >
          {instead}
        </button>
      </p>
    </form>
  );
}

// explain returns why an attempt failed. Without a response, a registration may have
// succeeded: then the name is taken, and logging in works.
function explain(error: CombinedError): string {
  const [first] = error.graphQLErrors;
  switch (first?.extensions['code']) {
    case 'UNAUTHENTICATED':
      return t.login.wrong;
    case 'NOT_FOUND':
      return t.login.noAccounts;
    case 'RATE_LIMITED':
      return t.login.tooManyAttempts(Math.ceil(Number(first.extensions['retryAfter'] ?? 10)));
  }
  if (error.networkError) return navigator.onLine ? t.login.noResponse : t.login.offline;
  return advise(error).text;
}
