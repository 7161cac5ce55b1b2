import { unconfirmed, unreached } from '@ovation/client';
import type { CombinedError } from '@urql/core';
import { t } from '../messages';

export { unconfirmed, unreached };

// Advice explains an error to the user of the page: what happened and what to do about it.
export interface Advice {
  readonly text: string;
  readonly retry: boolean; // whether a retry may succeed
  readonly signIn: boolean; // whether it takes another viewer, so that logging in helps
}

const again = { retry: true, signIn: false };
const final = { retry: false, signIn: false };

// advise turns an error of a mutation, or of the network, into advice.
export function advise(error: CombinedError): Advice {
  if (error.networkError) {
    return navigator.onLine
      ? { text: t.errors.noResponse, ...again }
      : { text: t.errors.offline, ...again };
  }
  const [first] = error.graphQLErrors;
  const said = sentence(first?.message ?? error.message);
  switch (first?.extensions['code']) {
    case 'UNAUTHENTICATED':
      return { text: t.errors.unauthenticated(said), retry: false, signIn: true };
    case 'UNAVAILABLE':
      return { text: t.errors.unavailable, ...again };
    case 'EXPIRED': // of the outbox
      return { text: t.errors.expired, ...again };
    case 'RATE_LIMITED':
      return { text: t.errors.rateLimited, ...again };
    case 'LIMIT_EXCEEDED':
      return { text: t.errors.limitExceeded(said), ...final };
    case 'NOT_FOUND':
      return { text: t.errors.notFound(said), ...final };
    case 'BAD_USER_INPUT':
      return { text: t.errors.badInput(said), ...final };
    case 'INTERNAL':
      return { text: t.errors.internal(said), ...again };
    default:
      return { text: t.errors.other(said), ...again };
  }
}

// notSent says why a message or a comment was not sent, or that this is not known.
export function notSent(error: CombinedError): string {
  return unconfirmed(error) ? advise(error).text : t.errors.notSent(advise(error).text);
}

// sentence turns a message, which may begin with the name of an argument, into a sentence.
function sentence(message: string): string {
  const text = message.replace(/^input\.(\w+)/, 'the $1');
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

// adviseReader returns the text for an error of a query.
export function adviseReader(error: CombinedError): string {
  if (unreached(error)) return navigator.onLine ? t.errors.unreachable : t.errors.isOffline;
  return unconfirmed(error) ? t.errors.isUnavailable : advise(error).text;
}
