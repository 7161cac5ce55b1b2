import type { Client } from 'graphql-ws';

// resuming makes subscriptions continue after a lost connection: they are sent again
// with the position of their last event in the variable `after`, which is the `cursor` of
// commentsChanged and the `id` of messages. Events without a position leave the
// variables unchanged. Errors are passed through explain.
export function resuming(client: Client, explain: (error: unknown) => unknown): Client {
  return {
    ...client,
    subscribe(payload, sink) {
      const variables = { ...payload.variables };
      return client.subscribe(
        { ...payload, variables },
        {
          next(result) {
            advance(variables, result.data);
            sink.next(result as never); // has the type that the caller requested
          },
          error: (error) => sink.error(explain(error)),
          complete: () => sink.complete(),
        },
      );
    },
    iterate(payload) {
      const variables = { ...payload.variables };
      const results = client.iterate({ ...payload, variables });
      const next = results.next.bind(results);
      results.next = async (...given) => {
        const result = await next(...given).catch((error: unknown) => Promise.reject(explain(error)));
        if (!result.done) advance(variables, result.value.data);
        return result;
      };
      return results as never;
    },
  };
}

function advance(variables: Record<string, unknown>, data: unknown): void {
  for (const [field, event] of Object.entries((data ?? {}) as Record<string, { cursor?: unknown; id?: unknown } | null>)) {
    const place = field === 'messages' ? event?.id : event?.cursor;
    if (typeof place === 'string') variables['after'] = place;
  }
}
