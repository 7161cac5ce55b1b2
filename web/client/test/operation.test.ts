/// <reference types="node" />
// What is derived from operations and their results.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildSchema, parse, validate } from 'graphql';
import { actedOn, cardsIn, questionAbout } from '../src/operation';
import { cardOf, subject } from './operations';

const schema = buildSchema(readFileSync('../schema.graphqls', 'utf8'));

test('a mutation acts on the subjects of its inputs, in every form of input', () => {
  const query = parse(`mutation ($input: LikeInput!, $id: ID!) {
    like(input: $input) { changed }
    other: follow(input: {biz: "user", bizId: $id}) { interactive { id } }
    read(input: {biz: "video", bizId: "9"}) { durability }
  }`);
  const found = actedOn({ query, variables: { input: subject, id: 'bob' } });
  assert.deepEqual(found.map((one) => ({ ...one.subject })), [subject, { biz: 'user', bizId: 'bob' }]);
  assert.deepEqual(found.map(({ selections }) => selections.length), [0, 1]);
  assert.deepEqual(actedOn({ query: parse('{ viewer { id } }') }), []);
});

test('cards are found at any depth, and queried with the fields that were selected of them', () => {
  const query = parse(`
    query Mine($first: Int!, $likers: Int!) {
      viewer { likes(first: $first) { edges { node { at interactive { ...Card author { interactive { ...Bare } } } } } } }
    }
    fragment Card on Interactive { ...Bare likers(first: $likers) { edges { node { at } } } }
    fragment Bare on Interactive { __typename id biz bizId version }
    fragment Unused on Interactive { readCount }`);
  const author = { ...cardOf(3, 1), biz: 'user', bizId: 'bob', author: null };
  const data = { viewer: { likes: { edges: [{ node: { at: '', interactive: { ...cardOf(5, 1), author: { interactive: author } } } }] } } };
  const operation = { query, variables: { first: 2, likers: 7 } };
  const found = cardsIn(operation, data);
  assert.deepEqual(found.map(({ card }) => card.bizId), ['1', 'bob']);

  const [first, second] = found.map(({ card, selections }) => questionAbout(operation, selections, card));
  for (const { query: question } of [first!, second!]) assert.deepEqual(validate(schema, question).map(String), []);
  assert.deepEqual(first!.variables, { likers: 7, subjectBiz: 'video', subjectBizId: '1' });
  assert.deepEqual(second!.variables, { subjectBiz: 'user', subjectBizId: 'bob' });
});
