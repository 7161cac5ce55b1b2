import { useEffect, useRef } from 'react';
import { useRoute, type Route } from './route';
import { SessionProvider } from './session';
import { Masthead } from './ui/masthead';
import { Notices } from './ui/notices';
import { Feed } from './views/feed';
import { Folder } from './views/folder';
import { Folders } from './views/folders';
import { Likes } from './views/likes';

// The whole page. What is below the session begins anew with each viewer.
export function App() {
  const route = useRoute();
  return (
    <SessionProvider>
      <a className="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <Masthead view={route.view} />
      <Main route={route} />
      <Notices />
    </SessionProvider>
  );
}

const titles = { feed: 'Now showing', likes: 'Your likes', folders: 'Your folders', folder: 'Folder' };

function Main({ route }: { route: Route }) {
  const main = useRef<HTMLElement>(null);
  const place = route.view === 'folder' ? route.id : route.view;
  const first = useRef(place);
  useEffect(() => {
    document.title = `${titles[route.view]} · Ovation`;
    if (first.current === place) return; // the browser sees to the first view
    first.current = place;
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [place, route.view]);
  return (
    <main id="main" ref={main} tabIndex={-1} aria-label={titles[route.view]}>
      {route.view === 'feed' && <Feed />}
      {route.view === 'likes' && <Likes />}
      {route.view === 'folders' && <Folders />}
      {route.view === 'folder' && <Folder key={route.id} id={route.id} />}
    </main>
  );
}

// The address holds the view, so that it cannot hold a place within it.
function skipToMain(event: React.MouseEvent) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
