import { unconfirmed, unreached } from '@ovation/client';
import type { CombinedError } from '@urql/core';

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
      ? { text: 'The server did not respond. It is not known whether this was done; repeating it is safe.', ...again }
      : { text: 'You are offline. It is not known whether this was done; repeating it once you are online is safe.', ...again };
  }
  const [first] = error.graphQLErrors;
  const message = sentence(first?.message ?? error.message);
  switch (first?.extensions['code']) {
    case 'UNAUTHENTICATED':
      return { text: `${message} Log in first.`, retry: false, signIn: true };
    case 'UNAVAILABLE':
      return { text: 'The service could not confirm it. It may have been done all the same: the page checks, and repeating it is safe.', ...again };
    case 'EXPIRED': // of the outbox
      return { text: 'It is not known whether this was sent, more than 23 hours ago.', ...again };
    case 'RATE_LIMITED':
      return { text: 'Too many requests. Wait a few seconds, then try again.', ...again };
    case 'LIMIT_EXCEEDED':
      return { text: `A limit is reached: ${message}`, ...final };
    case 'NOT_FOUND':
      return { text: `It no longer exists. ${message}`, ...final };
    case 'BAD_USER_INPUT':
      return { text: message, ...final };
    default:
      return { text: `An error occurred on the server, and it is not known whether this was done. ${message}`, ...again };
  }
}

// notSent says why a message or a comment was not sent, or that this is not known.
export function notSent(error: CombinedError): string {
  return unconfirmed(error) ? advise(error).text : `Not sent. ${advise(error).text}`;
}

// sentence turns a message, which may begin with the name of an argument, into a sentence.
function sentence(message: string): string {
  const text = message.replace(/^input\.(\w+)/, 'the $1');
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

// adviseReader returns the text for an error of a query.
export function adviseReader(error: CombinedError): string {
  if (unreached(error)) return navigator.onLine ? 'The server cannot be reached.' : 'You are offline.';
  return unconfirmed(error) ? 'The service is currently unavailable.' : advise(error).text;
}
