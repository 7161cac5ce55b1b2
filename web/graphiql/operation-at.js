import { parse } from 'graphql';

// operationAt returns the name of the operation at a place in a document: the one around it,
// or else the next one, or the last. It returns undefined unless there are several with
// names.
export function operationAt(document, place) {
  let parsed;
  try {
    parsed = parse(document);
  } catch {
    return undefined;
  }
  const operations = parsed.definitions.filter(({ kind, name }) => kind === 'OperationDefinition' && name);
  if (operations.length < 2) return undefined;
  return (operations.find(({ loc }) => place <= loc.end) ?? operations.at(-1)).name.value;
}
