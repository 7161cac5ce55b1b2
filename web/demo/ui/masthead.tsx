import { useStore } from '../api/store';
import type { Link } from '../api/connection';
import { links, type Route } from '../route';
import { useSession } from '../session';
import { useOnline } from './online';
import { Avatar } from './avatar';
import { Icon, type IconName } from './icons';
import { askWho, ViewerDialog } from './viewer-dialog';

// Masthead is the top of the page: where one is, how fresh it is, who one is.
export function Masthead({ view }: { view: Route['view'] }) {
  const here = view === 'folder' ? 'folders' : view;
  return (
    <header className="masthead">
      <a className="brand" href={links.feed}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M16 27 5.6 16.5a6.4 6.4 0 0 1 9-9L16 9l1.4-1.5a6.4 6.4 0 0 1 9 9Z" />
        </svg>
        Ovation
      </a>
      <nav aria-label="Views">
        <Tab to={links.feed} icon="feed" label="Feed" current={here === 'feed'} />
        <Tab to={links.likes} icon="heart" label="Likes" current={here === 'likes'} />
        <Tab to={links.folders} icon="folder" label="Folders" current={here === 'folders'} />
      </nav>
      <LinkState />
      <ViewerButton />
      <ViewerDialog />
    </header>
  );
}

function Tab({ to, icon, label, current }: { to: string; icon: IconName; label: string; current: boolean }) {
  return (
    <a className="tab" href={to} aria-current={current ? 'page' : undefined}>
      <Icon name={icon} filled={current} />
      {label}
    </a>
  );
}

const states: Record<Link, { label: string; says: string }> = {
  idle: { label: 'Not live', says: 'Nothing here changes by itself.' },
  connecting: { label: 'Connecting', says: 'Connecting for live counts.' },
  live: { label: 'Live', says: 'Counts change as others act.' },
  reconnecting: { label: 'Reconnecting', says: 'The connection is gone. Counts are as they were; it is tried again and again.' },
  offline: { label: 'Offline', says: 'You are offline. Counts are as they were.' },
  refused: { label: 'Signed out', says: 'The server does not believe this viewer any more. Say who you are again.' },
};

// LinkState tells whether the counts are live.
function LinkState() {
  const { connection } = useSession();
  const link = useStore(connection.link);
  const state = useOnline() ? link : 'offline';
  const { label, says } = states[state];
  return (
    <p className="link-state" data-state={state} role="status" title={says}>
      <span className="link-dot" />
      <span className="link-label">{label}</span>
      <span className="unseen">. {says}</span>
    </p>
  );
}

function ViewerButton() {
  const { userId, known } = useSession();
  const name = userId ?? (known ? 'nobody' : '…');
  return (
    <button type="button" className="viewer-button" onClick={askWho} aria-label={`You are ${name}. Change that`}>
      <Avatar name={userId} />
      <span className="viewer-name">{name}</span>
    </button>
  );
}
