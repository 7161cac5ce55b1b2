import { useState } from 'react';
import { FriendsDocument, type ClipFragment } from '../operations';
import { clipAddress, links } from '../route';
import { useSession } from '../session';
import { Avatar } from './avatar';
import { Dialog } from './dialog';
import { Icon } from './icons';
import { useName } from './name';
import { announce } from './notices';
import { Pages } from './pages';
import { willSend } from './will-send';

const atOnce = 20;

// ClipShare sends the link of a clip to friends.
export function ClipShare({ clip, onClose }: { clip: ClipFragment; onClose: () => void }) {
  const { userId, connection } = useSession();
  const [sent, setSent] = useState<ReadonlySet<string>>(new Set());
  const send = (to: string, name: string) => {
    connection.outbox.send(to, clipAddress(clip.videoId));
    setSent(new Set(sent).add(to));
    announce(navigator.onLine ? `Sent to ${name}.` : willSend());
  };
  return (
    <Dialog title="Send to a friend" onClose={onClose}>
      <p className="picker-what">{clip.title}</p>
      <Pages
        label="friends"
        query={FriendsDocument}
        variables={(after) => ({ userId: userId!, first: atOnce, after })}
        info={({ user }) => user.friends.pageInfo}
        page={({ data, first }) => {
          const friends = data?.user.friends.edges.map(({ node }) => node.user.userId) ?? [];
          if (first && data && friends.length === 0) {
            return (
              <p className="hint">
                Friends are people whom you follow and who follow you. <a href={links.profile}>Your profile</a>
              </p>
            );
          }
          return (
            <ul className="people">
              {friends.map((id) => (
                <Receiver key={id} id={id} sent={sent.has(id)} onSend={send} />
              ))}
            </ul>
          );
        }}
      />
    </Dialog>
  );
}

function Receiver({ id, sent, onSend }: { id: string; sent: boolean; onSend: (id: string, name: string) => void }) {
  const name = useName(id);
  return (
    <li>
      <button type="button" disabled={sent} onClick={() => onSend(id, name)}>
        <Avatar name={name} />
        <span className="choice-name">{name}</span>
        <Icon name={sent ? 'check' : 'send'} />
        <span className="unseen">{sent ? 'sent' : 'send'}</span>
      </button>
    </li>
  );
}
