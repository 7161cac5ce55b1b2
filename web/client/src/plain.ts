import { parse, print } from 'graphql';
import type { Client, Sink } from 'graphql-ws';
import { Newest } from './newest.js';
import { run } from './run.js';

// keepNewest returns a client of graphql-ws whose results are corrected by Newest:
// counts never go backwards, and the viewer's own actions never flicker. Operations
// select __typename, biz, bizId and version of each subject.
//
// Without a cache, nothing is refetched after a mutation that failed: query the subject
// again if `unconfirmed` returns true.
export function keepNewest(client: Client): Pick<Client, 'subscribe'> {
  const newest = new Newest({
    async ask({ query, variables }) {
      try {
        for await (const { data } of client.iterate({ query: print(query), variables })) return data;
      } catch {
        // The server did not respond.
      }
      return undefined;
    },
    reread() {},
  });
  return {
    subscribe: (payload, sink) =>
      run(newest, { query: parse(payload.query), variables: payload.variables }, (own) => client.subscribe(payload, own as Sink<never>), sink as never),
  };
}
