import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { backoff } from '@ovation/client';
import { useClient, useQuery, useSubscription } from 'urql';
import { ask } from '../api/ask';
import { unconfirmed } from '../api/advice';
import { useStore } from '../api/store';
import { t } from '../messages';
import { ConversationsDocument, MessagesDocument, type MessageFragment } from '../operations';
import type { Route } from '../route';
import { useSession } from '../session';
import { showFailedAction } from './actions';
import { useName, useProfile } from './name';
import { announce } from './notices';

export const conversationsAtOnce = 30;

const firstPage = { first: conversationsAtOnce, after: null };

function useConversations() {
  const { known, userId } = useSession();
  return useQuery({ query: ConversationsDocument, variables: firstPage, requestPolicy: 'cache-first', pause: !known || userId === null });
}

// useUnread returns the number of unread messages in the latest conversations.
export function useUnread(): number {
  const [{ data }] = useConversations();
  return data?.conversations.edges.reduce((sum, { node }) => sum + node.unread, 0) ?? 0;
}

// useLatestConversation returns with whom the viewer had the latest conversation: undefined
// until that is known, null without any. It stays the same while it is shown.
export function useLatestConversation(): string | null | undefined {
  const [{ data }] = useConversations();
  const latest = data && (data.conversations.edges[0]?.node.with.userId ?? null);
  const [first, setFirst] = useState(latest);
  if (first == null && latest != null) setFirst(latest);
  return first ?? latest;
}

// Mail subscribes to all messages from and to the viewer, in every view of the page.
export function Mail({ route }: { route: Route }) {
  const { known, userId } = useSession();
  return known && userId !== null ? <Stream key={userId} userId={userId} route={route} /> : null;
}

function Stream({ userId, route }: { userId: string; route: Route }) {
  const client = useClient();
  const { connection } = useSession();
  const [{ data }] = useConversations();
  const [after, setAfter] = useState<string>(); // where the stream starts
  const cursor = data?.conversations.messagesCursor;
  if (after === undefined && cursor !== undefined) setAfter(cursor);
  const [{ data: event, error }, again] = useSubscription({ query: MessagesDocument, variables: { after: after ?? null }, pause: after === undefined });

  // If the server ends the stream, the list is refetched, with the new position to start from.
  const ends = useRef(0); // how often, since the last message
  if (event) ends.current = 0;
  useEffect(() => {
    if (!error) return undefined;
    let end: (() => void) | undefined;
    const timer = setTimeout(() => {
      end = ask(client, ConversationsDocument, firstPage, ({ data: fresh }) => {
        if (!fresh) return false;
        setAfter(fresh.conversations.messagesCursor);
        again();
        return true;
      });
    }, backoff(ends.current++));
    return () => {
      clearTimeout(timer);
      end?.();
    };
  }, [error, client, again]);

  const { outbox } = connection;
  useEffect(() => outbox.open(userId), [outbox, userId]);
  const pending = useStore(outbox.pending);
  useEffect(() => {
    for (const one of pending) {
      if (one.kind !== 'action' || !one.error || unconfirmed(one.error)) continue;
      outbox.discard(one);
      showFailedAction(one.action, one.error, () => outbox.act(one.action));
    }
  }, [outbox, pending]);

  const message = event?.messages;
  const theirs = message && message.from.userId !== userId;
  useLayoutEffect(() => {
    if (message && !theirs) outbox.delivered(message);
  }, [outbox, message, theirs]);
  const here = route.view === 'chat' && message?.from.userId === route.id;
  return message && theirs && !here ? <NewMessage key={message.id} message={message} /> : null;
}

// NewMessage announces a new message to screen readers.
function NewMessage({ message }: { message: MessageFragment }) {
  const known = useProfile(message.from.userId) !== undefined;
  const name = useName(message.from.userId);
  const { id } = message;
  useEffect(() => {
    if (known) announce(t.chats.newFrom(name));
  }, [id, known, name]);
  return null;
}
