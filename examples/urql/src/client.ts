import { connect, type Socket } from '@ovation/client';
import { ovationExchange, overSocket, refetchExchange } from '@ovation/client/urql';
import { Client, fetchExchange, subscriptionExchange } from 'urql';

export interface Connection {
  readonly client: Client;
  readonly socket: Socket;
}

// open connects as the user of a token or, without one, as an anonymous viewer.
export function open(token: string): Connection {
  const socket = connect({ url: '/graphql', token });
  const client = new Client({
    url: '/graphql',
    preferGetMethod: false,
    fetchOptions: { headers: token ? { authorization: `Bearer ${token}` } : {} },
    exchanges: [
      refetchExchange(socket), // fills the page and brings it up to date after an outage
      ovationExchange(),
      subscriptionExchange({ forwardSubscription: overSocket(socket) }),
      fetchExchange,
    ],
  });
  return { client, socket };
}
