// GraphQLFailure is what every client has of an error of the service.
export interface GraphQLFailure {
  readonly message: string;
  readonly extensions?: Record<string, unknown> | undefined;
}

// The codes of errors after which nothing was done.
const refusals = new Set<unknown>(['UNAUTHENTICATED', 'RATE_LIMITED', 'LIMIT_EXCEEDED', 'NOT_FOUND', 'BAD_USER_INPUT']);

// unconfirmed reports whether a mutation may have been executed in spite of its
// error: without an answer, and where the service does not know either. Sending
// it again is safe.
export function unconfirmed(error: unknown): boolean {
  const failures = failuresIn(error);
  return failures.length === 0 || failures.some(({ extensions }) => !refusals.has(extensions?.['code']));
}

// failuresIn finds the errors of the service in an error of urql, Apollo Client
// or graphql-ws. There are none where the service did not answer.
export function failuresIn(error: unknown): readonly GraphQLFailure[] {
  if (Array.isArray(error)) return error as GraphQLFailure[];
  const { networkError, graphQLErrors, errors } = (error ?? {}) as {
    networkError?: unknown; // of urql
    graphQLErrors?: readonly GraphQLFailure[]; // of urql
    errors?: readonly GraphQLFailure[]; // of Apollo Client
  };
  return networkError ? [] : (graphQLErrors ?? errors ?? []);
}
