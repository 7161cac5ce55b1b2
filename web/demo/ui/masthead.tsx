import { useEffect, useRef } from 'react';
import { Brand } from '../../shared/brand';
import { t } from '../messages';
import { links, type Route } from '../route';
import { useSession } from '../session';
import { Avatar } from './avatar';
import { Icon, type IconName } from './icons';
import { LinkState } from './link-state';
import { useUnread } from './mail';
import { Menu } from './menu';
import { useName, usePicture } from './name';
import { UploadButton } from './upload';
import { openLogin, ViewerDialogs } from './viewer-dialog';

// Masthead is the top of the page: the tabs, the state of the connection, and the viewer.
// On phones the tabs are at the bottom, without those of lists that the profile has, too.
export function Masthead({ route }: { route: Route }) {
  const { userId } = useSession();
  const unread = useUnread();
  const here = placeOf(route, userId);
  return (
    <header className="masthead">
      <Brand to={links.clips} />
      <nav className="views" aria-label={t.masthead.views}>
        <Tab to={links.clips} icon="play" label={t.masthead.tabs.feed} current={here === 'clips'} />
        <Tab to={links.browse} icon="feed" label={t.masthead.tabs.browse} current={here === 'browse'} />
        <Tab to={links.search()} icon="search" label={t.masthead.tabs.search} current={here === 'search'} mark />
        <Tab to={links.chats} icon="mail" label={t.masthead.tabs.chats} current={here === 'chats'} count={unread} />
        <Tab to={links.likes} icon="heart" label={t.masthead.tabs.likes} current={here === 'likes'} wide />
        <Tab to={links.folders} icon="folder" label={t.masthead.tabs.folders} current={here === 'folders'} wide />
        <Tab to={links.profile} icon="person" label={t.masthead.tabs.profile} current={here === 'person'} />
      </nav>
      <LinkState messages={here === 'chats'} />
      <UploadButton />
      <Menu />
      <Viewer />
      <ViewerDialogs />
    </header>
  );
}

// placeOf returns the tab that an address belongs to.
function placeOf(route: Route, userId: string | null): string {
  if (route.view === 'person' && route.id !== null && route.id !== userId) return 'somebody';
  return { clip: 'clips', chat: 'chats', folder: 'folders' }[route.view as string] ?? route.view;
}

interface TabProps {
  readonly to: string;
  readonly icon: IconName;
  readonly label: string;
  readonly current: boolean;
  readonly count?: number;
  readonly wide?: boolean; // whether phones do without it
  readonly mark?: boolean; // whether only phones show its name
}

function Tab({ to, icon, label, current, count = 0, wide = false, mark = false }: TabProps) {
  return (
    <a className="tab" href={to} aria-current={current ? 'page' : undefined} data-wide={wide || undefined} data-mark={mark || undefined}>
      <span className="tab-mark">
        <Icon name={icon} filled={current && !mark} />
        {count > 0 && (
          <span className="badge" aria-hidden="true">
            {count > 99 ? '99+' : t.format.number(count)}
          </span>
        )}
      </span>
      {label}
      {count > 0 && <span className="unseen">{t.masthead.unread(count)}</span>}
    </a>
  );
}

// Viewer leads users to their profile, and lets anonymous viewers log in.
function Viewer() {
  const { userId, known, changed } = useSession();
  const name = useName(userId);
  const picture = usePicture(userId);
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    // For another viewer the page starts again, and the element with the focus was removed.
    if (changed && known && document.activeElement === document.body) place.current?.querySelector<HTMLElement>('a, button')?.focus();
  }, [changed, known]);
  return (
    <span className="viewer" ref={place}>
      {known && userId === null && (
        <button type="button" className="button viewer-login" onClick={openLogin}>
          {t.logIn}
        </button>
      )}
      {known && userId !== null && (
        <a className="viewer-link" href={links.profile} aria-label={t.masthead.viewer(name)}>
          <Avatar name={name} picture={picture} />
          <span className="viewer-name">{name}</span>
        </a>
      )}
      {!known && (
        <span className="viewer-link">
          <Avatar name={null} />
        </span>
      )}
    </span>
  );
}
