import { useStore } from '../api/store';
import { after } from '../api/action';
import { keyOf } from '../api/subject';
import { t } from '../messages';
import type { CardFragment } from '../operations';
import { useSession } from '../session';
import { useOnline } from './online';

// willSend says when something that waits is sent.
export function willSend(online = navigator.onLine): string {
  return online ? t.link.willSend : t.link.willSendOnline;
}

export function useWillSend(): string {
  return willSend(useOnline());
}

// useWaiting returns a card as it is after the viewer's actions that wait to be sent, and
// what to say about them: nothing if there are none.
export function useWaiting<Card extends CardFragment | undefined>(card: Card): { card: Card; waiting: string | undefined } {
  const pending = useStore(useSession().connection.outbox.pending);
  const text = useWillSend();
  const actions = card ? pending.flatMap((one) => (one.kind === 'action' && keyOf(one.action) === keyOf(card) ? [one.action] : [])) : [];
  if (!card || actions.length === 0) return { card, waiting: undefined };
  return { card: actions.reduce<NonNullable<Card>>(after, card), waiting: text };
}
