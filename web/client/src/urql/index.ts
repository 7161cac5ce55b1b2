import { composeExchanges, type Exchange, type SubscriptionForwarder } from '@urql/core';
import { cacheExchange, type CacheExchangeOpts, type UpdatesConfig } from '@urql/exchange-graphcache';
import type { Client as SocketClient } from 'graphql-ws';
import { keys, optimistic, updates } from './cache.js';
import { distinct } from './distinct.js';
import { newestExchange } from './newest.js';

export { refetchExchange } from './refetch.js';

// ovationExchange is a normalised cache (Graphcache) with knowledge of the API: it stores
// each subject once, displays likes, collections and follows before the response, and
// ignores outdated results. The configuration is that of cacheExchange and is merged with
// the package's own. Exchanges that access the network must follow it.
//
// urql's document cache cannot replace it: that cache does not merge events.
export function ovationExchange(config: CacheExchangeOpts = {}): Exchange {
  const cache = cacheExchange({
    ...config,
    keys: { ...keys, ...config.keys },
    optimistic: { ...optimistic, ...config.optimistic },
    updates: merged(updates, config.updates),
  });
  return composeExchanges([distinct(cache), newestExchange]);
}

// overSocket returns the forwarder of a subscriptionExchange.
export function overSocket(client: Pick<SocketClient, 'subscribe'>): SubscriptionForwarder {
  return ({ query, variables }) => ({
    subscribe: (sink) => ({
      unsubscribe: client.subscribe({ query: query ?? '', variables: variables as Record<string, unknown> | undefined }, sink),
    }),
  });
}

function merged(own: UpdatesConfig, given: UpdatesConfig = {}): UpdatesConfig {
  return Object.fromEntries([...Object.keys(own), ...Object.keys(given)].map((type) => [type, { ...own[type], ...given[type] }]));
}
