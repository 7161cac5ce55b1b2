// Authentication, for both pages: the development server accepts a user's name, every
// other server a token. Both are empty for an anonymous viewer.
export interface Viewer {
  readonly user: string;
  readonly token: string;
}

export const anonymous: Viewer = { user: '', token: '' };

// viewerHeaders returns the request headers that authenticate the viewer. A token is
// sufficient; the user's name alone is accepted in development only.
export function viewerHeaders(viewer: Viewer): Record<string, string> {
  const { token, user } = bare(viewer);
  if (token) return { authorization: `Bearer ${token}` };
  if (user) return { 'x-ovation-user': asBytes(user) };
  return {};
}

// viewerParams returns the same for the connection_init message of a WebSocket, because
// browsers cannot send custom headers with it.
export function viewerParams(viewer: Viewer): Record<string, string> {
  const { token, user } = bare(viewer);
  if (token) return { Authorization: `Bearer ${token}` };
  if (user) return { 'X-Ovation-User': user };
  return {};
}

// A pasted "Authorization: Bearer …" or "Bearer …" is accepted like the bare token.
function bare({ user, token }: Viewer): Viewer {
  return { user: user.trim(), token: token.replace(/^\s*(authorization:)?\s*(bearer\s)?/i, '').trim() };
}

// asBytes encodes any text for a header: one character for each byte of its UTF-8 form.
// fetch rejects characters above 255.
function asBytes(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
