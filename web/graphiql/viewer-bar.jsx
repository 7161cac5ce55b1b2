import icon from './icon.svg';

// The bar above GraphiQL that says in whose name operations are sent.
export function ViewerBar({ viewer, onChange }) {
  const set = (name) => (event) => onChange({ ...viewer, [name]: event.target.value });
  return (
    <header className="viewer-bar">
      <h1>
        <img src={icon} alt="" width="24" height="24" />
        Ovation
      </h1>
      <form role="group" aria-label="Viewer" onSubmit={(event) => event.preventDefault()}>
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
        <output>{describe(viewer)}</output>
      </form>
    </header>
  );
}

// What browsers like to add to a text field, and is wrong here.
const plainText = { autoComplete: 'off', autoCapitalize: 'none', autoCorrect: 'off', spellCheck: false };

function describe({ user, token }) {
  if (token) return 'You are whom the token names';
  if (user.trim()) return `You are ${user.trim()} (development only)`;
  return 'You are anonymous: counts and reads only';
}
