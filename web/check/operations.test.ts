/// <reference types="node" />
// The operations of the demo and the examples are meant to be copied: they work with the
// normalised cache of any client.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildSchema, getNamedType, isObjectType, isInterfaceType, Kind, NoUnusedFragmentsRule, parse, specifiedRules, TypeInfo, validate, visit, visitWithTypeInfo, type DocumentNode, type SelectionNode } from 'graphql';

const root = join(process.cwd(), '..');
const schema = buildSchema(readFileSync(join(root, 'schema.graphqls'), 'utf8'));
const folders = ['web/demo/operations', 'examples/apollo/src', 'examples/urql/src'];

for (const folder of folders) {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.graphql'));
  const document = parse(names.map((name) => readFileSync(join(root, folder, name), 'utf8')).join('\n'));

  test(`${folder}: every operation is valid`, () => {
    assert.notEqual(names.length, 0);
    const rules = specifiedRules.filter((rule) => rule !== NoUnusedFragmentsRule); // caches use some fragments, too
    assert.deepEqual(validate(schema, document, rules).map(String), []);
  });

  test(`${folder}: every object with an id is selected with it`, () => {
    assert.deepEqual(withoutId(document), []);
  });
}

// withoutId returns the places where an object is selected without its id.
function withoutId(document: DocumentNode): string[] {
  const places: string[] = [];
  const types = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(types, {
      Field(field) {
        const type = getNamedType(types.getType());
        if (!field.selectionSet || !type || !(isObjectType(type) || isInterfaceType(type)) || !('id' in type.getFields())) return;
        if (!selectsId(document, field.selectionSet.selections)) places.push(`${types.getParentType()}.${field.name.value}`);
      },
    }),
  );
  return places;
}

function selectsId(document: DocumentNode, selections: readonly SelectionNode[]): boolean {
  return selections.some((one) => {
    if (one.kind === Kind.FIELD) return one.name.value === 'id' && !one.alias;
    if (one.kind === Kind.INLINE_FRAGMENT) return selectsId(document, one.selectionSet.selections);
    return document.definitions.some(
      (fragment) => fragment.kind === Kind.FRAGMENT_DEFINITION && fragment.name.value === one.name.value && selectsId(document, fragment.selectionSet.selections),
    );
  });
}
