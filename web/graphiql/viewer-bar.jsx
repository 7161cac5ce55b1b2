import { Brand } from '../shared/brand.tsx';
import { Pages } from '../shared/pages.tsx';

// Users of the demo data, and the anonymous viewer.
const people = ['alice', 'bob', ''];

// The masthead, which also sets the viewer of all operations.
export function ViewerBar({ viewer, onChange, standing, names, notice }) {
  const set = (name) => (event) => onChange({ ...viewer, [name]: event.target.value });
  return (
    <header className="masthead viewer-bar">
      <Brand />
      <Pages current="GraphiQL" user={viewer.token ? '' : viewer.user} data={names === true} />
      <h1>GraphiQL</h1>
      <form aria-label="Viewer" onSubmit={(event) => event.preventDefault()}>
        {names !== false && (
          <>
            <div className="chips" role="group" aria-label="Ask as">
              {people.map((user) => (
                <button
                  key={user}
                  type="button"
                  aria-pressed={!viewer.token && viewer.user === user}
                  onClick={() => onChange({ user, token: '' })}
                >
                  {user || 'anonymous'}
                </button>
              ))}
            </div>
            <label>
              <span>User</span>
              <input
                name="user"
                value={viewer.user}
                onChange={set('user')}
                disabled={viewer.token !== ''}
                placeholder="alice"
                title="Sent as X-Ovation-User. Accepted by ovation dev with --demo or --dev-headers only."
                {...plainText}
              />
            </label>
          </>
        )}
        <label>
          <span>Token</span>
          <input
            name="token"
            type="password"
            value={viewer.token}
            onChange={set('token')}
            placeholder="from ovation token"
            title="Sent as Authorization: Bearer. Forgotten when this browser tab closes."
            {...plainText}
          />
        </label>
        <output aria-live="polite" data-refused={'refused' in standing || undefined}>
          {notice || describe(viewer, standing, names)}
        </output>
      </form>
      <a className="tab" href="/schema.graphqls">
        Schema
      </a>
    </header>
  );
}

// Turns off what browsers do to text fields and is wrong for names and tokens.
const plainText = { autoComplete: 'off', autoCapitalize: 'none', autoCorrect: 'off', spellCheck: false };

function describe({ token }, { asking, userId, refused, unreachable }, names) {
  if (asking) return '…';
  if (unreachable) return unreachable;
  if (refused) return `Rejected: ${refused}`;
  if (userId && token) return `The token is valid: you are ${userId}`;
  if (userId) return `You are ${userId} (development only)`;
  return `You are anonymous: counts and reads only${names === false ? '. This server accepts only tokens' : ''}`;
}
