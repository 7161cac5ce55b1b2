import { useEffect, useRef } from 'react';
import { t } from './messages';
import { useRoute, type Route } from './route';
import { SessionProvider, useSession } from './session';
import { Keys } from './ui/keys';
import { Mail } from './ui/mail';
import { Masthead } from './ui/masthead';
import { useName, useProfile } from './ui/name';
import { Notices } from './ui/notices';
import { Failed } from './ui/pages';
import { Chat } from './views/chat';
import { Chats } from './views/chats';
import { Clips, OneClip } from './views/clips';
import { Feed } from './views/feed';
import { Folder } from './views/folder';
import { Folders } from './views/folders';
import { Likes } from './views/likes';
import { Person } from './views/person';
import { Search } from './views/search';

// The whole page. Everything below the session is rendered again for each viewer.
export function App() {
  const route = useRoute();
  return (
    <SessionProvider>
      <a className="skip" href="#main" onClick={skipToMain}>
        {t.masthead.skip}
      </a>
      <Masthead route={route} />
      <Notices />
      <Main route={route} />
      <Mail route={route} />
      <Keys />
    </SessionProvider>
  );
}

function Main({ route }: { route: Route }) {
  const main = useRef<HTMLElement>(null);
  const id = 'id' in route ? route.id : null;
  const place = id === null ? route.view : `${route.view} ${id}`;
  const person = route.view === 'person' ? id : null;
  const known = useProfile(person) !== undefined;
  const name = useName(person);
  const title = person === null ? t.titles[route.view] : known ? name : person;
  const first = useRef(place);
  const { problem, tryAgain } = useSession();
  useEffect(() => {
    document.title = `${title} · Ovation`;
    if (first.current === place) return; // the browser handles the first view
    first.current = place;
    if (main.current?.contains(document.activeElement)) return; // the view has set the focus itself
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [place, title]);
  return (
    <main id="main" data-view={route.view} ref={main} tabIndex={-1} aria-label={title}>
      {problem && <Failed error={problem} onAgain={tryAgain} />}
      {route.view === 'clips' && <Clips />}
      {route.view === 'clip' && <OneClip key={route.id} id={route.id} />}
      {route.view === 'browse' && <Feed />}
      {route.view === 'search' && <Search text={route.text} />}
      {route.view === 'chats' && <Chats />}
      {route.view === 'chat' && <Chat key={route.id} id={route.id} />}
      {route.view === 'likes' && <Likes />}
      {route.view === 'folders' && <Folders />}
      {route.view === 'folder' && <Folder key={route.id} id={route.id} />}
      {route.view === 'person' && <Person key={route.id} {...route} />}
    </main>
  );
}

// The fragment of the address names the view, so it cannot name an element of the page.
function skipToMain(event: React.MouseEvent) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
