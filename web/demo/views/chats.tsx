import { ForUsers } from '../ui/empty';
import { ConversationList } from '../ui/conversations';

// Chats shows the viewer's conversations, those with the latest messages first.
export function Chats() {
  return (
    <>
      <header className="intro">
        <h1>Chats</h1>
      </header>
      <ForUsers>
        <ConversationList current={undefined} />
      </ForUsers>
    </>
  );
}
