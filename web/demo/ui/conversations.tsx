import { t } from '../messages';
import { ConversationsDocument, FriendsDocument, type ConversationFragment } from '../operations';
import { clipIn, links } from '../route';
import { useSession } from '../session';
import { Ago } from './ago';
import { Avatar } from './avatar';
import { Icon } from './icons';
import { conversationsAtOnce } from './mail';
import { nameOf, useName, usePicture } from './name';
import { Pages } from './pages';

// ConversationList links to the viewer's conversations.
export function ConversationList({ current }: { current: string | undefined }) {
  return (
    <div className="conversations">
      <Pages
        label={t.more.conversations}
        auto
        query={ConversationsDocument}
        variables={(after) => ({ first: conversationsAtOnce, after })}
        info={({ conversations }) => conversations.pageInfo}
        page={({ data, first }) => {
          if (!data) return first && <ConversationSkeleton />;
          const all = data.conversations.edges.map(({ node }) => node);
          if (first && all.length === 0) return <Beginning />;
          return (
            <ul className="conversation-rows">
              {all.map((one) => (
                <Row key={one.id} conversation={one} current={one.with.userId === current} />
              ))}
            </ul>
          );
        }}
      />
    </div>
  );
}

function Row({ conversation: { with: other, latest, unread }, current }: { conversation: ConversationFragment; current: boolean }) {
  const { userId } = useSession();
  const name = nameOf(other);
  const said = clipIn(latest.text) ? t.clips.inMessage : latest.text;
  return (
    <li>
      <a className="conversation" href={links.chat(other.userId)} aria-current={current ? 'page' : undefined} data-unread={unread > 0 || undefined}>
        <Avatar name={name} picture={other.profile?.avatarUrl} />
        <span className="conversation-name">{name}</span>
        <span className="conversation-at">
          <Ago at={latest.at} />
        </span>
        <span className="conversation-said" dir="auto">
          {latest.from.userId === userId ? t.chats.own(said) : said}
        </span>
        {unread > 0 && (
          <span className="badge">
            {unread}
            <span className="unseen">{t.chats.unread}</span>
          </span>
        )}
      </a>
    </li>
  );
}

function ConversationSkeleton() {
  return (
    <div className="conversation-rows" data-skeleton aria-hidden="true">
      {Array.from({ length: 5 }, (_, row) => (
        <div key={row} className="conversation">
          <i />
          <i />
        </div>
      ))}
    </div>
  );
}

// Beginning offers friends to start a conversation with.
function Beginning() {
  const { userId } = useSession();
  return (
    <>
      <p className="conversations-none">
        <Icon name="mail" />
        {t.chats.none}
      </p>
      <Pages
        label={t.more.friends}
        query={FriendsDocument}
        variables={(after) => ({ userId: userId!, first: 20, after })}
        info={({ user }) => user.friends.pageInfo}
        page={({ data }) => (
          <ul className="conversation-rows">
            {data?.user.friends.edges.map(({ node }) => (
              <FriendRow key={node.user.userId} id={node.user.userId} />
            ))}
          </ul>
        )}
      />
    </>
  );
}

function FriendRow({ id }: { id: string }) {
  const name = useName(id);
  const picture = usePicture(id);
  return (
    <li>
      <a className="conversation" href={links.chat(id)}>
        <Avatar name={name} picture={picture} />
        <span className="conversation-name">{name}</span>
        <span className="conversation-said">{t.chats.sayHello}</span>
      </a>
    </li>
  );
}
