// GraphQLFailure is what the errors of all clients have in common.
export interface GraphQLFailure {
  readonly message: string;
  readonly extensions?: Record<string, unknown> | undefined;
}

// The codes of errors that prove that the mutation was not executed.
const refusals = new Set<unknown>(['UNAUTHENTICATED', 'RATE_LIMITED', 'LIMIT_EXCEEDED', 'NOT_FOUND', 'BAD_USER_INPUT']);

// unconfirmed reports whether a mutation may have been executed in spite of its error:
// there was no response, or the service does not know either. Such a mutation is safe
// to repeat.
export function unconfirmed(error: unknown): boolean {
  const failures = failuresIn(error);
  return failures.length === 0 || failures.some(({ extensions }) => !refusals.has(extensions?.['code']));
}

// failuresIn returns the service's errors in an error of urql, Apollo Client or
// graphql-ws: none if the service did not respond.
export function failuresIn(error: unknown): readonly GraphQLFailure[] {
  if (Array.isArray(error)) return error as GraphQLFailure[];
  const { networkError, graphQLErrors, errors } = (error ?? {}) as {
    networkError?: unknown; // of urql
    graphQLErrors?: readonly GraphQLFailure[]; // of urql
    errors?: readonly GraphQLFailure[]; // of Apollo Client
  };
  return networkError ? [] : (graphQLErrors ?? errors ?? []);
}
