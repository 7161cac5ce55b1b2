import { useEffect, useRef, useState } from 'react';
import { whoAmI } from './fetcher.js';

// The viewer: { user, token }, both strings, empty if not set. The token is forgotten with the
// browser tab; the user's name is not secret and is kept.
const userKey = 'ovation:user';
const tokenKey = 'ovation:token';

// The initial user if the server accepts names: one of the demo data.
const firstUser = 'alice';

const typing = 300; // milliseconds without a key press until a name or a token is complete

// useViewer returns the viewer, a function that changes it, and the server's verdict on it:
// { asking }, { userId }, { refused } or { unreachable }. names is whether the server accepts
// names, undefined while that is unknown; if it does not accept the initial one, the viewer
// becomes anonymous. While opening is true, the viewer may still change by itself.
export function useViewer(url, given) {
  const [viewer, setViewer] = useState(() => loadViewer(given));
  const [standing, setStanding] = useState({ asking: true });
  const [names, setNames] = useState();
  const [opening, setOpening] = useState(true);
  const first = useRef(true);

  useEffect(() => {
    const changed = new AbortController();
    setStanding({ asking: true });
    const ask = async () => {
      const answer = await whoAmI(url, viewer, changed.signal).catch((error) => ({ unreachable: error.message }));
      if (changed.signal.aborted) return;
      if (first.current && answer.refused && !viewer.token) {
        setNames(false);
        setViewer({ user: '', token: '' });
      } else {
        if (answer.userId && !viewer.token) setNames(true);
        setStanding(answer);
        setOpening(false);
      }
      first.current = false;
    };
    const timer = setTimeout(ask, first.current ? 0 : typing);
    return () => {
      clearTimeout(timer);
      changed.abort();
    };
  }, [url, viewer]);

  useEffect(() => storeViewer(viewer), [viewer]);
  return { viewer, setViewer, standing, names, opening };
}

// loadViewer returns the last viewer, or the given user if there is one.
function loadViewer(user) {
  try {
    return {
      user: user ?? localStorage.getItem(userKey) ?? firstUser,
      token: sessionStorage.getItem(tokenKey) ?? '',
    };
  } catch {
    return { user: user ?? firstUser, token: '' }; // storage is blocked
  }
}

// storeViewer stores the viewer if the browser permits it.
function storeViewer({ user, token }) {
  try {
    localStorage.setItem(userKey, user);
    sessionStorage.setItem(tokenKey, token);
  } catch {
    // Storage is blocked or full: the viewer is kept as long as the page.
  }
}
