import { parse, print, separateOperations } from 'graphql';
import { viewerHeaders } from '../viewer.ts';

// The formats in which an operation can be copied. Each takes { url, viewer, query,
// operationName, variables, kind } and returns text to paste.
export const forms = {
  curl: asCurl,
  fetch: asFetch,
  'Apollo Client': asApollo,
  urql: asUrql,
};

// operationOf returns the operation of that name, or the first one, with the fragments it
// uses. It throws if the document cannot be parsed.
export function operationOf(document, name) {
  const parsed = parse(document);
  const operations = separateOperations(parsed);
  const chosen = operations[name ?? ''] ?? Object.values(operations)[0];
  if (!chosen) throw new Error('there is no operation');
  const { operation: kind, name: named, variableDefinitions } = chosen.definitions.find(({ kind }) => kind === 'OperationDefinition');
  const takes = variableDefinitions.map(({ variable }) => variable.name.value);
  return { query: print(chosen), operationName: named?.value, kind, takes };
}

function asCurl({ url, viewer, query, operationName, variables, kind }) {
  const headers = { 'content-type': 'application/json', ...viewerHeaders(viewer) };
  if (kind === 'subscription') headers.accept = 'text/event-stream';
  const body = JSON.stringify({ query, operationName, variables });
  const lines = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return `curl ${kind === 'subscription' ? '-N' : '-s'} ${quoted(url)} \\\n  ${lines.join(' \\\n  ')} \\\n  -d ${quoted(body)}\n`;
}

function asFetch({ url, viewer, query, operationName, variables, kind }) {
  const headers = { 'Content-Type': 'application/json', ...viewerHeaders(viewer) };
  if (kind === 'subscription') headers.Accept = 'text/event-stream';
  const read =
    kind === 'subscription'
      ? `for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
  console.log(text); // server-sent events: lines of event and data
}`
      : `const { data, errors } = await response.json();
console.log(errors ?? data);`;
  return `const query = \`
${template(query)}
\`;
const response = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers: ${literal(headers).replaceAll('\n', '\n  ')},
  body: JSON.stringify({ query, operationName: ${JSON.stringify(operationName)}, variables: ${literal(variables).replaceAll('\n', '\n  ')} }),
});
${read}
`;
}

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function asApollo(operation) {
  const { kind, variables } = operation;
  const hook = { query: 'useQuery', mutation: 'useMutation', subscription: 'useSubscription' }[kind];
  const constant = constantOf(operation);
  const options = `{ variables: ${literal(variables)} }`;
  const use =
    kind === 'mutation'
      ? `const [${verbOf(operation)}, { data, loading, error }] = useMutation(${constant}, ${options});`
      : `const { data, loading, error } = ${hook}(${constant}, ${options});`;
  return `import { gql } from '@apollo/client';
import { ${hook} } from '@apollo/client/react';

const ${constant} = gql\`
${template(operation.query)}
\`;

// In a component:
${use}
`;
}

function asUrql(operation) {
  const { kind, variables } = operation;
  const hook = { query: 'useQuery', mutation: 'useMutation', subscription: 'useSubscription' }[kind];
  const constant = constantOf(operation);
  const use =
    kind === 'mutation'
      ? `const [{ data, fetching, error }, ${verbOf(operation)}] = useMutation(${constant});
// When it is to be done:
${verbOf(operation)}(${literal(variables)});`
      : `const [{ data, fetching, error }] = ${hook}({ query: ${constant}, variables: ${literal(variables)} });`;
  return `import { gql, ${hook} } from 'urql';

const ${constant} = gql\`
${template(operation.query)}
\`;

// In a component:
${use}
`;
}

// constantOf turns MyLikes into MY_LIKES.
function constantOf({ operationName, kind }) {
  return (operationName ?? kind).replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();
}

// verbOf turns AddComment into addComment.
function verbOf({ operationName }) {
  const name = operationName ?? 'run';
  return name[0].toLowerCase() + name.slice(1);
}

function template(query) {
  return query.trim().replace(/^/gm, '  ').replaceAll('`', '\\`').replaceAll('${', '\\${');
}

// literal formats a value as JavaScript: names without quotes.
function literal(value) {
  return JSON.stringify(value ?? {}, null, 2).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:');
}
