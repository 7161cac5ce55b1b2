import { unconfirmed } from '@ovation/client';
import type { CombinedError } from '@urql/core';

export { unconfirmed };

// Advice explains an error to the user of the page: what happened and what to do about it.
export interface Advice {
  readonly says: string;
  readonly retry: boolean; // whether a retry may succeed
  readonly signIn: boolean; // whether it takes another viewer, so that logging in helps
}

const again = { retry: true, signIn: false };
const final = { retry: false, signIn: false };

// advise turns an error of a mutation, or of the network, into advice.
export function advise(error: CombinedError): Advice {
  if (error.networkError) {
    return navigator.onLine
      ? { says: 'The server did not answer. It is not known whether this was done; doing it again is safe.', ...again }
      : { says: 'You are offline. It is not known whether this was done; doing it again is safe when you are back.', ...again };
  }
  const [first] = error.graphQLErrors;
  const message = sentence(first?.message ?? error.message);
  switch (first?.extensions['code']) {
    case 'UNAUTHENTICATED':
      return { says: `${message} Say who you are first.`, retry: false, signIn: true };
    case 'UNAVAILABLE':
      return { says: 'The service could not confirm it. It may have been done all the same: the page reads it again, and doing it again is safe.', ...again };
    case 'RATE_LIMITED':
      return { says: 'That was a lot at once. Wait a few seconds, then try again.', ...again };
    case 'LIMIT_EXCEEDED':
      return { says: `There is no room for more: ${message}`, ...final };
    case 'NOT_FOUND':
      return { says: `It is not there any more. ${message}`, ...final };
    case 'BAD_USER_INPUT':
      return { says: message, ...final };
    default:
      return { says: `Something is wrong on the server, and it is not known whether this was done. ${message}`, ...again };
  }
}

// sentence turns a message, which may begin with the name of an argument, into a sentence.
function sentence(message: string): string {
  const text = message.replace(/^input\.(\w+)/, 'the $1');
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

// adviseReader returns the text for an error of a query.
export function adviseReader(error: CombinedError): string {
  if (error.networkError) return 'The server cannot be reached.';
  return unconfirmed(error) ? 'The service cannot answer this right now.' : advise(error).says;
}
