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
