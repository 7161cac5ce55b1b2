import {
  Kind,
  OperationTypeNode,
  parse,
  separateOperations,
  valueFromASTUntyped,
  visit,
  type DocumentNode,
  type FieldNode,
  type OperationDefinitionNode,
  type SelectionNode,
} from 'graphql';
import type { Interactive, Subject } from './subject.js';

// Operation is what is sent to the server.
export interface Operation {
  readonly query: DocumentNode;
  readonly variables?: unknown;
}

// Question is a query that this package sends by itself.
export interface Question extends Operation {
  readonly variables: Record<string, unknown>;
}

// Card is an Interactive in a result. Results are corrected in place.
export type Card = { -readonly [Field in keyof Interactive]: Interactive[Field] } & { version: number };

// Found is a card in a result, with the fields that the operation selected of it.
export interface Found {
  readonly card: Card;
  readonly selections: readonly SelectionNode[];
}

type Selections = readonly SelectionNode[];
type Fragments = ReadonlyMap<string, Selections>;

// The mutations that change the viewer's state of a subject.
const actions = new Set(['like', 'unlike', 'dislike', 'undislike', 'collect', 'uncollect', 'follow', 'unfollow']);

export function definitionOf({ query }: Operation): OperationDefinitionNode {
  const definition = query.definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  if (!definition) throw new Error('the document holds no operation');
  return definition as OperationDefinitionNode;
}

// ActedOn is a subject that a mutation acts on, with the fields that are selected of it in
// the response: none if the response does not include it.
export interface ActedOn {
  readonly subject: Subject;
  readonly selections: Selections;
}

// actedOn returns the subjects that an operation acts on; none for a query.
export function actedOn(operation: Operation): ActedOn[] {
  const definition = definitionOf(operation);
  if (definition.operation !== OperationTypeNode.MUTATION) return [];
  const found: ActedOn[] = [];
  for (const field of definition.selectionSet.selections) {
    if (field.kind !== Kind.FIELD || !actions.has(field.name.value)) continue;
    const input = field.arguments?.find(({ name }) => name.value === 'input');
    const subject = input && (valueFromASTUntyped(input.value, variablesOf(operation)) as Subject | undefined);
    if (!subject) continue;
    const answer = fieldsIn(field.selectionSet?.selections ?? [], fragmentsOf(operation)).get('interactive');
    found.push({ subject, selections: answer ?? [] });
  }
  return found;
}

// cardsIn finds the cards in the data of a result, at any depth.
export function cardsIn(operation: Operation, data: unknown): Found[] {
  const found: Found[] = [];
  const fragments = fragmentsOf(operation);
  const search = (value: unknown, selections: Selections): void => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) return value.forEach((item) => search(item, selections));
    if (isCard(value)) found.push({ card: value, selections });
    for (const [name, below] of fieldsIn(selections, fragments)) {
      if (below.length > 0) search((value as Record<string, unknown>)[name], below);
    }
  };
  search(data, definitionOf(operation).selectionSet.selections);
  return found;
}

// eventCard returns the card of an event that consists of one subject only, such as those
// of interactiveChanged. A later event about the subject replaces it.
export function eventCard(operation: Operation, data: unknown): Found | undefined {
  const parts = Object.values((data ?? {}) as object).filter((part) => typeof part === 'object');
  return parts.length === 1 && isCard(parts[0]) ? cardsIn(operation, data)[0] : undefined;
}

function isCard(value: object): value is Card {
  return (value as { __typename?: unknown }).__typename === 'Interactive' && 'version' in value;
}

const subjectQuery = definitionOf({
  query: parse('query Subject($subjectBiz: String!, $subjectBizId: ID!) { interactive(biz: $subjectBiz, bizId: $subjectBizId) { version } }'),
});

// questionAbout returns a query for a subject with exactly the fields that an operation
// selected of it, so that the result can replace that of the operation.
export function questionAbout(operation: Operation, selections: Selections, { biz, bizId }: Subject): Question {
  const [field] = subjectQuery.selectionSet.selections as FieldNode[];
  const asked: OperationDefinitionNode = {
    ...subjectQuery,
    selectionSet: { kind: Kind.SELECTION_SET, selections: [{ ...field!, selectionSet: { kind: Kind.SELECTION_SET, selections } }] },
  };
  const fragments = operation.query.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const query = separateOperations({ kind: Kind.DOCUMENT, definitions: [asked, ...fragments] })['Subject']!;

  const used = new Set<string>();
  visit(query, { Variable: ({ name }) => void used.add(name.value) });
  const own = (definitionOf(operation).variableDefinitions ?? []).filter(({ variable }) => used.has(variable.name.value));
  const variables = Object.fromEntries(own.map(({ variable: { name } }) => [name.value, variablesOf(operation)[name.value]]));
  const declared = { ...asked, variableDefinitions: [...(asked.variableDefinitions ?? []), ...own] };
  return {
    query: { ...query, definitions: query.definitions.map((one) => (one.kind === Kind.OPERATION_DEFINITION ? declared : one)) },
    variables: { ...variables, subjectBiz: biz, subjectBizId: bizId },
  };
}

function variablesOf({ variables }: Operation): Record<string, unknown> {
  return (variables ?? {}) as Record<string, unknown>;
}

function fragmentsOf({ query }: Operation): Fragments {
  return new Map(query.definitions.flatMap((one) => (one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one.selectionSet.selections] as const] : [])));
}

// fieldsIn returns the fields of an object by their names in the result, each with its
// selections, merged over all fragments.
function fieldsIn(selections: Selections, fragments: Fragments): Map<string, Selections> {
  const fields = new Map<string, SelectionNode[]>();
  const gather = (some: Selections): void => {
    for (const one of some) {
      if (one.kind === Kind.INLINE_FRAGMENT) gather(one.selectionSet.selections);
      else if (one.kind === Kind.FRAGMENT_SPREAD) gather(fragments.get(one.name.value) ?? []);
      else {
        const name = one.alias?.value ?? one.name.value;
        fields.set(name, [...(fields.get(name) ?? []), ...(one.selectionSet?.selections ?? [])]);
      }
    }
  };
  gather(selections);
  return fields;
}
