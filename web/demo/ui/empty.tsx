import type { ReactNode } from 'react';
import { t } from '../messages';
import { links } from '../route';
import { useSession } from '../session';
import { Icon, type IconName } from './icons';
import { openLogin } from './viewer-dialog';

// Empty is shown in place of a list without entries.
export function Empty({ icon, children }: { icon: IconName; children: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={icon} />
      <p>{children}</p>
      <a className="button" href={links.clips}>
        {t.toFeed}
      </a>
    </div>
  );
}

// ForUsers shows its children to users, and to anonymous viewers why they see nothing.
export function ForUsers({ children }: { children: ReactNode }) {
  const { known, userId } = useSession();
  if (!known) return null;
  if (userId !== null) return children;
  return (
    <div className="empty">
      <Icon name="lock" />
      <p>{t.login.forUsers}</p>
      <button type="button" className="button strong" onClick={openLogin}>
        {t.logInOrRegister}
      </button>
    </div>
  );
}
