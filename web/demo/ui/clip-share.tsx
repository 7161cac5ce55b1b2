import { useRef, useState } from 'react';
import { t } from '../messages';
import { FriendsDocument, type ClipFragment } from '../operations';
import { clipAddress, links } from '../route';
import { useSession } from '../session';
import { Avatar } from './avatar';
import { Dialog } from './dialog';
import { Icon } from './icons';
import { Marked } from './marked';
import { useName, usePicture } from './name';
import { announce } from './notices';
import { Pages } from './pages';
import { openLogin } from './viewer-dialog';
import { willSend } from './will-send';

const atOnce = 20;

// ClipShare gives the link of a clip away: to the clipboard, to another app, and to friends.
export function ClipShare({ clip, onClose }: { clip: ClipFragment; onClose: () => void }) {
  const { userId } = useSession();
  return (
    <Dialog title={t.share.title} onClose={onClose}>
      <p className="picker-what">{clip.title}</p>
      <Link clip={clip} />
      {userId === null ? (
        <p className="hint">
          <Marked text={t.share.logIn}>
            {(part) => (
              <button type="button" className="link" onClick={openLogin}>
                {part}
              </button>
            )}
          </Marked>
        </p>
      ) : (
        <Friends clip={clip} userId={userId} />
      )}
    </Dialog>
  );
}

function Link({ clip }: { clip: ClipFragment }) {
  const [copied, setCopied] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const address = clipAddress(clip.videoId);
  const copy = async () => {
    if (!(await copyFrom(field.current!))) return;
    setCopied(true);
    announce(t.share.linkCopied);
  };
  return (
    <div className="share">
      <input ref={field} className="share-link" value={address} readOnly aria-label={t.share.link} onFocus={(event) => event.target.select()} />
      <button type="button" className="button" onClick={() => void copy()}>
        <Icon name={copied ? 'check' : 'link'} />
        {copied ? t.share.copied : t.share.copy}
      </button>
      {typeof navigator.share === 'function' && (
        <button type="button" className="button" onClick={() => void navigator.share({ title: clip.title, url: address }).catch(() => {})}>
          <Icon name="send" />
          {t.share.otherApp}
        </button>
      )}
    </div>
  );
}

// copyFrom copies the text of a field. Browsers have the newer API in secure contexts only.
async function copyFrom(field: HTMLInputElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    field.select();
    return document.execCommand('copy');
  }
}

function Friends({ clip, userId }: { clip: ClipFragment; userId: string }) {
  const { connection } = useSession();
  const [sent, setSent] = useState<ReadonlySet<string>>(new Set());
  const send = (to: string, name: string) => {
    connection.outbox.send(to, clipAddress(clip.videoId));
    setSent(new Set(sent).add(to));
    announce(navigator.onLine ? t.share.sentTo(name) : willSend());
  };
  return (
    <section className="stack" aria-label={t.share.friends}>
      <h3>{t.share.sendToFriend}</h3>
      <Pages
        label={t.more.friends}
        query={FriendsDocument}
        variables={(after) => ({ userId, first: atOnce, after })}
        info={({ user }) => user.friends.pageInfo}
        page={({ data, first }) => {
          const friends = data?.user.friends.edges.map(({ node }) => node.user.userId) ?? [];
          if (first && data && friends.length === 0) {
            return (
              <p className="hint">
                <Marked text={t.share.noFriends}>{(part) => <a href={links.profile}>{part}</a>}</Marked>
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
    </section>
  );
}

function Receiver({ id, sent, onSend }: { id: string; sent: boolean; onSend: (id: string, name: string) => void }) {
  const name = useName(id);
  const picture = usePicture(id);
  return (
    <li>
      <button type="button" disabled={sent} onClick={() => onSend(id, name)}>
        <Avatar name={name} picture={picture} />
        <span className="choice-name">{name}</span>
        <Icon name={sent ? 'check' : 'send'} />
        <span className="unseen">{sent ? t.share.sent : t.share.send}</span>
      </button>
    </li>
  );
}
