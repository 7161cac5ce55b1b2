import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import { useClient, useQuery } from 'urql';
import type { PendingMessage } from '../api/outbox';
import { useStore } from '../api/store';
import { t } from '../messages';
import { ChatDocument, MarkReadDocument, type ConversationFragment, type MessageFragment } from '../operations';
import { links } from '../route';
import { useSession } from '../session';
import { Avatar } from '../ui/avatar';
import { Bubbles, PendingBubble } from '../ui/bubbles';
import { ConversationList } from '../ui/conversations';
import { ForUsers } from '../ui/empty';
import { Icon } from '../ui/icons';
import { MessageForm } from '../ui/message-form';
import { useName, usePicture } from '../ui/name';
import { Failed } from '../ui/pages';

const atOnce = 30;

// Chat shows a conversation with one user, beside the list of conversations if they fit.
export function Chat({ id }: { id: string }) {
  return (
    <ForUsers>
      <div className="chat-panes">
        <div className="chat-others">
          <ConversationList current={id} />
        </div>
        <Conversation id={id} />
      </div>
    </ForUsers>
  );
}

// Conversation shows the messages with one user, and the form for another one.
export function Conversation({ id }: { id: string }) {
  const { userId, connection } = useSession();
  const { outbox } = connection;
  const name = useName(id);
  const picture = usePicture(id);
  const pending = useStore(outbox.pending).filter((one): one is PendingMessage => one.kind === 'message' && one.to === id && !one.delivered);
  const live = useStore(connection.status).state === 'live';
  if (id === userId) return <p className="chat chat-empty">{t.chats.yourself}</p>;
  return (
    <section className="chat" aria-label={t.chats.with(name)}>
      <header className="chat-head">
        <a className="plain chat-back" href={links.chats} aria-label={t.chats.all}>
          <Icon name="back" />
        </a>
        <a className="person-name" href={links.person(id)}>
          <Avatar name={name} picture={picture} />
          <h1>{name}</h1>
        </a>
      </header>
      <Log last={pending.at(-1)?.requestId}>
        {(onSize) => (
          <>
            <History id={id} onSize={onSize} none={pending.length === 0} />
            {pending.length > 0 && (
              <ol className="bubbles">
                {pending.map((message) => (
                  <PendingBubble key={message.requestId} message={message} onRetry={() => outbox.retry(message)} onDiscard={() => outbox.discard(message)} />
                ))}
              </ol>
            )}
          </>
        )}
      </Log>
      {!live && (
        <p className="freshness-note" role="status">
          {t.link.newMessages}
        </p>
      )}
      <MessageForm key={id} to={name} onSend={(text) => outbox.send(id, text)} />
    </section>
  );
}

// Log scrolls to the latest message unless the viewer reads an earlier one.
function Log({ last, children }: { last: string | undefined; children: (onSize: (newest: string | undefined) => void) => ReactNode }) {
  const log = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const top = useRef(0); // the last position
  const [newest, setNewest] = useState<string>();
  useEffect(() => {
    const element = log.current!;
    if (atEnd.current || last !== undefined) element.scrollTop = element.scrollHeight;
  }, [newest, last]);
  useEffect(() => {
    const element = log.current!;
    const stay = new ResizeObserver(() => {
      if (atEnd.current) element.scrollTop = element.scrollHeight;
    });
    stay.observe(element); // the keyboard of a phone takes half of it
    stay.observe(content.current!); // clips are loaded after their messages
    return () => stay.disconnect();
  }, []);
  return (
    <div
      className="chat-log"
      ref={log}
      role="log"
      aria-label={t.chats.messages}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        const near = scrollHeight - scrollTop - clientHeight < 60;
        if (near || scrollTop < top.current) atEnd.current = near; // what is loaded below is no scrolling up
        top.current = scrollTop;
      }}
    >
      <div ref={content}>{children(setNewest)}</div>
    </div>
  );
}

// History shows the messages, oldest first. Earlier pages are loaded at the top.
function History({ id, onSize, none }: { id: string; onSize: (newest: string | undefined) => void; none: boolean }) {
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  const more = useCallback((after: string) => setCursors((before) => (before.includes(after) ? before : [...before, after])), []);
  return cursors
    .map((after, page) => <HistoryPage key={after} id={id} after={after} last={page === cursors.length - 1} none={none} onMore={more} onSize={onSize} />)
    .toReversed();
}

interface PageProps {
  readonly id: string;
  readonly after: string | null;
  readonly last: boolean; // whether no earlier page is shown
  readonly none: boolean; // whether the conversation has no other messages
  readonly onMore: (after: string) => void;
  readonly onSize: (newest: string | undefined) => void;
}

function HistoryPage({ id, after, last, none, onMore, onSize }: PageProps) {
  const { known } = useSession();
  const [{ data, error, fetching }, again] = useQuery({ query: ChatDocument, variables: { with: id, first: atOnce, after }, requestPolicy: 'cache-and-network', pause: !known });
  const retry = () => again({ requestPolicy: 'network-only' });
  const conversation = data?.conversation;
  const messages: MessageFragment[] | undefined = conversation?.messages.edges.map(({ node }) => node).toReversed();
  const newest = messages?.at(-1)?.id;
  useEffect(() => {
    if (after === null) onSize(newest);
  }, [after, newest, onSize]);
  useMarkRead(after === null ? conversation : undefined);

  if (!data) return error ? <Failed error={error} onAgain={retry} /> : <BubbleSkeleton />;
  if (!conversation || !messages) return none ? <p className="chat-empty">{t.chats.empty}</p> : null;
  const { hasNextPage, endCursor } = conversation.messages.pageInfo;
  return (
    <>
      {last && hasNextPage && endCursor && <Earlier busy={fetching} onMore={() => onMore(endCursor)} />}
      <Bubbles messages={messages} />
    </>
  );
}

// useMarkRead marks messages as read while they are in view.
function useMarkRead(conversation: ConversationFragment | null | undefined): void {
  const client = useClient();
  const seen = useVisible();
  const other = conversation?.with.userId;
  const upTo = conversation && conversation.unread > 0 ? conversation.latest.id : undefined;
  useEffect(() => {
    if (!seen || other === undefined || upTo === undefined) return;
    // If this fails, the messages are marked with the next one.
    void client.mutation(MarkReadDocument, { input: { with: other, upTo } }).toPromise();
  }, [client, seen, other, upTo]);
}

function useVisible(): boolean {
  const [visible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const changed = () => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', changed);
    return () => document.removeEventListener('visibilitychange', changed);
  }, []);
  return visible;
}

// Earlier loads the previous page when it comes into view.
function Earlier({ busy, onMore }: { busy: boolean; onMore: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(onMore);
  latest.current = onMore;
  useEffect(() => {
    const observer = new IntersectionObserver((changes) => changes.at(-1)!.isIntersecting && latest.current());
    observer.observe(button.current!);
    return () => observer.disconnect();
  }, []);
  return (
    <button type="button" className="link chat-earlier" ref={button} aria-busy={busy} onClick={onMore}>
      {t.chats.earlier}
    </button>
  );
}

function BubbleSkeleton() {
  return (
    <div className="bubbles" data-skeleton aria-hidden="true">
      {['in', 'out', 'in'].map((way, row) => (
        <i key={row} className="bubble" data-way={way} />
      ))}
    </div>
  );
}
