import { useEffect, useRef, useState } from 'react';
import { whoAmI } from './fetcher.js';

// Who is asking: { user, token }, both strings, empty where there is none.
// The token is forgotten with the browser tab; the user's name is no secret
// and stays.
const userKey = 'ovation:user';
const tokenKey = 'ovation:token';

// The user of the demo data as whom the page opens, where the server accepts names.
const firstUser = 'alice';

const typing = 300; // milliseconds without a key until a name or a token is whole

// useViewer returns who is asking, a function that changes it, and what the server
// says of it: { asking }, { userId }, { refused } or { unreachable }. names is whether
// the server accepts names, undefined while that is not known; where it refuses the
// one that the page opens with, the viewer becomes anonymous. While opening is true,
// who asks may still change by itself.
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

// loadViewer returns who asked last, or the given user if there is one.
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

// storeViewer remembers who is asking, where the browser lets it.
function storeViewer({ user, token }) {
  try {
    localStorage.setItem(userKey, user);
    sessionStorage.setItem(tokenKey, token);
  } catch {
    // Storage is blocked or full: the viewer lasts as long as the page.
  }
}
