import { useEffect, useLayoutEffect, useState } from 'react';
import { useClient, useQuery, useSubscription } from 'urql';
import { outboxOf } from '../api/outbox';
import { useStore } from '../api/store';
import { ConversationsDocument, MessagesDocument, type MessageFragment } from '../operations';
import type { Route } from '../route';
import { useSession } from '../session';
import { useName } from './name';
import { announce } from './notices';

export const conversationsAtOnce = 30;
const retryAfter = 3_000; // milliseconds

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

// Mail subscribes to all messages from and to the viewer, in every view of the page.
export function Mail({ route }: { route: Route }) {
  const { known, userId } = useSession();
  return known && userId !== null ? <Stream key={userId} userId={userId} route={route} /> : null;
}

function Stream({ userId, route }: { userId: string; route: Route }) {
  const client = useClient();
  const { connection } = useSession();
  const [{ data, error: unread }, read] = useConversations();
  const [after, setAfter] = useState<string>(); // where the stream starts
  const cursor = data?.conversations.messagesCursor;
  if (after === undefined && cursor !== undefined) setAfter(cursor);
  const [{ data: event, error }, again] = useSubscription({ query: MessagesDocument, variables: { after: after ?? null }, pause: after === undefined });

  // If the server ends the stream, the list is refetched, with the new position to start from.
  const failed = error ?? unread;
  useEffect(() => {
    if (!failed) return;
    const timer = setTimeout(() => {
      void client
        .query(ConversationsDocument, firstPage, { requestPolicy: 'network-only' })
        .toPromise()
        .then(({ data: fresh }) => {
          if (!fresh) return read();
          setAfter(fresh.conversations.messagesCursor);
          again();
        });
    }, retryAfter);
    return () => clearTimeout(timer);
  }, [failed, client, read, again]);

  const live = useStore(connection.status).state === 'live';
  useEffect(() => {
    if (live) outboxOf(client).retryAll();
  }, [live, client]);

  const message = event?.messages;
  const theirs = message && message.from.userId !== userId;
  useLayoutEffect(() => {
    if (message && !theirs) outboxOf(client).delivered(message);
  }, [client, message, theirs]);
  const here = route.view === 'chat' && message?.from.userId === route.id;
  return message && theirs && !here ? <NewMessage key={message.id} message={message} /> : null;
}

// NewMessage announces a new message to screen readers.
function NewMessage({ message }: { message: MessageFragment }) {
  const name = useName(message.from.userId);
  const { id } = message;
  useEffect(() => {
    if (name !== '…') announce(`New message from ${name}.`);
  }, [id, name]);
  return null;
}
