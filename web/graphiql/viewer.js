// Who is asking: { user, token }, both strings, empty where there is none.
// The token is forgotten with the browser tab; the user's name is no secret
// and stays.
const userKey = 'ovation:user';
const tokenKey = 'ovation:token';

// loadViewer returns who asked last, or the given user if there is one.
export function loadViewer(user) {
  try {
    return {
      user: user ?? localStorage.getItem(userKey) ?? '',
      token: sessionStorage.getItem(tokenKey) ?? '',
    };
  } catch {
    return { user: user ?? '', token: '' }; // storage is blocked
  }
}

// storeViewer remembers who is asking, where the browser lets it.
export function storeViewer({ user, token }) {
  try {
    localStorage.setItem(userKey, user);
    sessionStorage.setItem(tokenKey, token);
  } catch {
    // Storage is blocked or full: the viewer lasts as long as the page.
  }
}

// viewerHeaders are the request headers that say who is asking. A token says
// it all; the user's name alone is honoured in development only.
export function viewerHeaders({ user, token }) {
  const headers = {};
  // A pasted "Authorization: Bearer …" or "Bearer …" is as good as the token.
  const bare = token.replace(/^\s*(authorization:)?\s*(bearer\s)?/i, '').trim();
  if (bare) headers.authorization = `Bearer ${bare}`;
  else if (user.trim()) headers['x-ovation-user'] = asBytes(user.trim());
  return headers;
}

// asBytes makes any text fit for a header: one character for each byte of its
// UTF-8 form. fetch refuses characters above 255.
function asBytes(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
