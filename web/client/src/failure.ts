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

// transient reports whether the same request may succeed later: there was no response, or
// the service could not execute it at that time.
export function transient(error: unknown): boolean {
  return unconfirmed(error) || failuresIn(error).some(({ extensions }) => extensions?.['code'] === 'RATE_LIMITED');
}

// unreached reports whether there was no response at all, as it is while the machine is
// offline or the server is down.
export function unreached(error: unknown): boolean {
  return failuresIn(error).length === 0 && responseOf(error) === undefined;
}

// retryAfter returns after how many milliseconds the server expects a request again,
// according to an error or its header Retry-After; undefined if it does not say.
export function retryAfter(error: unknown): number | undefined {
  const waits = failuresIn(error).map(({ extensions }) => Number(extensions?.['retryAfter'] ?? Number.NaN) * 1_000);
  const wait = Math.max(...waits.filter(Number.isFinite), headerOf(error));
  return wait >= 0 ? wait : undefined;
}

// headerOf returns the header Retry-After in milliseconds; -1 if there is none. It is a
// number of seconds or a date.
function headerOf(error: unknown): number {
  const value = responseOf(error)?.headers?.get('retry-after');
  if (!value) return -1;
  const wait = /^\s*\d+\s*$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(wait) ? -1 : Math.max(wait, 0);
}

interface Answered {
  readonly headers?: { get(name: string): string | null };
}

// responseOf returns the HTTP response of an error, which urql and Apollo Client keep.
function responseOf(error: unknown): Answered | undefined {
  return (error as { response?: Answered } | null | undefined)?.response;
}
