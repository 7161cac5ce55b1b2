import { useSyncExternalStore } from 'react';
import { t } from '../messages';
import { ConversationList } from '../ui/conversations';
import { ForUsers } from '../ui/empty';
import { Icon } from '../ui/icons';
import { useLatestConversation } from '../ui/mail';
import { Conversation } from './chat';

// Chats shows the viewer's conversations, those with the latest messages first, and beside
// them the latest one if it fits.
export function Chats() {
  const wide = useSyncExternalStore(watch, () => query.matches);
  return (
    <>
      <header className="intro">
        <h1>{t.chats.title}</h1>
      </header>
      <ForUsers>{wide ? <Panes /> : <ConversationList current={undefined} />}</ForUsers>
    </>
  );
}

function Panes() {
  const latest = useLatestConversation();
  return (
    <div className="chat-panes">
      <div className="chat-others">
        <ConversationList current={latest ?? undefined} />
      </div>
      {latest && <Conversation key={latest} id={latest} />}
      {latest === null && (
        <p className="chat chat-none">
          <Icon name="mail" />
          {t.chats.choose}
        </p>
      )}
    </div>
  );
}

const query = matchMedia('(min-width: 861px)'); // as in chat.css

function watch(changed: () => void) {
  query.addEventListener('change', changed);
  return () => query.removeEventListener('change', changed);
}
