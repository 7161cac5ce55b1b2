import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { connect, type Socket } from '@ovation/client';
import { newestLink, refetchWhenLive, typePolicies } from '@ovation/client/apollo';
import { OperationTypeNode } from 'graphql';

export interface Connection {
  readonly client: ApolloClient;
  readonly socket: Socket;
}

// open connects as the user of a token or, without one, as an anonymous viewer.
export function open(token: string): Connection {
  const socket = connect({ url: '/graphql', token });
  const http = new HttpLink({ uri: '/graphql', headers: token ? { authorization: `Bearer ${token}` } : {} });
  const client = new ApolloClient({
    cache: new InMemoryCache({ typePolicies }),
    link: newestLink().concat(
      ApolloLink.split(({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION, new GraphQLWsLink(socket), http),
    ),
  });
  refetchWhenLive(client, socket); // fills the page and brings it up to date after an outage
  return { client, socket };
}
