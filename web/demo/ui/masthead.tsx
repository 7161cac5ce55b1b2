import { useEffect, useRef } from 'react';
import { links, type Route } from '../route';
import { useSession } from '../session';
import { Avatar } from './avatar';
import { Icon, type IconName } from './icons';
import { LinkState } from './link-state';
import { useUnread } from './mail';
import { useName } from './name';
import { UploadButton } from './upload';
import { openLogin, ViewerDialog } from './viewer-dialog';

// Masthead is the top of the page: the tabs, the state of the connection, and the viewer.
export function Masthead({ route }: { route: Route }) {
  const { userId, tokensOnly } = useSession();
  const unread = useUnread();
  const here = placeOf(route, userId);
  return (
    <header className="masthead">
      <a className="brand" href={links.clips}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M16 27 5.6 16.5a6.4 6.4 0 0 1 9-9L16 9l1.4-1.5a6.4 6.4 0 0 1 9 9Z" />
        </svg>
        Ovation
      </a>
      <nav aria-label="Views">
        <Tab to={links.clips} icon="play" label="Feed" current={here === 'clips'} />
        <Tab to={links.browse} icon="feed" label="Browse" current={here === 'browse'} />
        <Tab to={links.chats} icon="mail" label="Chats" current={here === 'chats'} count={unread} />
        <Tab to={links.likes} icon="heart" label="Likes" current={here === 'likes'} />
        <Tab to={links.folders} icon="folder" label="Folders" current={here === 'folders'} />
        <Tab to={links.people} icon="people" label="People" current={here === 'person'} />
      </nav>
      <UploadButton />
      <LinkState messages={here === 'chats'} />
      <a className="elsewhere" href={userId !== null && !tokensOnly ? `/?user=${encodeURIComponent(userId)}` : '/'}>
        GraphiQL
      </a>
      <ViewerButton />
      <ViewerDialog />
    </header>
  );
}

// placeOf returns the tab that an address belongs to.
function placeOf(route: Route, userId: string | null): string {
  if (route.view === 'person' && route.id !== null && route.id !== userId) return 'somebody';
  return { clip: 'clips', chat: 'chats', folder: 'folders' }[route.view as string] ?? route.view;
}

function Tab({ to, icon, label, current, count = 0 }: { to: string; icon: IconName; label: string; current: boolean; count?: number }) {
  return (
    <a className="tab" href={to} aria-current={current ? 'page' : undefined}>
      <span className="tab-mark">
        <Icon name={icon} filled={current} />
        {count > 0 && (
          <span className="badge" aria-hidden="true">
            {count > 99 ? '99+' : count}
          </span>
        )}
      </span>
      {label}
      {count > 0 && <span className="unseen">, {count} unread</span>}
    </a>
  );
}

function ViewerButton() {
  const { userId, known, changed } = useSession();
  const called = useName(userId);
  const name = known ? called : '…';
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // For another viewer the page starts again, and the element with the focus was removed.
    if (changed && document.activeElement === document.body) button.current!.focus();
  }, [changed]);
  return (
    <button ref={button} type="button" className="viewer-button" onClick={openLogin} aria-label={`You are ${name}. Change user`}>
      <Avatar name={userId && called} />
      <span className="viewer-name">{name}</span>
    </button>
  );
}
