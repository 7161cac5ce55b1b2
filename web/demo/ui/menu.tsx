import { useRef } from 'react';
import { t } from '../messages';
import { acceptsNames } from '../remembered';
import { useSession } from '../session';
import { Icon } from './icons';
import { openKeys } from './keys';
import { openSwitch } from './viewer-dialog';

// Menu leads to the list of the keys, to the other pages of this server and, in development,
// to the switch between users.
export function Menu() {
  const { userId, tokensOnly } = useSession();
  const menu = useRef<HTMLElement>(null);
  const close = () => menu.current?.hidePopover();
  const dev = acceptsNames() && !tokensOnly;
  return (
    <div className="menu">
      {/* This version of React does not support the popover attributes. */}
      <button type="button" className="plain" aria-label={t.masthead.more} {...{ popovertarget: 'menu' }}>
        <Icon name="menu" />
      </button>
      <nav ref={menu} className="menu-items" id="menu" aria-label={t.masthead.more} {...{ popover: 'auto' }}>
        {dev && (
          <button
            type="button"
            onClick={() => {
              close();
              openSwitch();
            }}
          >
            <Icon name="people" />
            {t.actAs.title}
          </button>
        )}
        <button
          type="button"
          className="menu-keys"
          onClick={() => {
            close();
            openKeys();
          }}
        >
          <Icon name="keys" />
          {t.masthead.keys}
        </button>
        <a href={userId !== null && dev ? `/?user=${encodeURIComponent(userId)}` : '/'}>
          <Icon name="code" />
          GraphiQL
        </a>
        {acceptsNames() && (
          <a href="/data">
            <Icon name="table" />
            {t.masthead.data}
          </a>
        )}
      </nav>
    </div>
  );
}
