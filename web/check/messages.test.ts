/// <reference types="node" />
// The texts of the demo page: the choice of the language, plurals and formats, and that every
// message is translated.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CombinedError } from '@urql/core';
import { advise } from '../demo/api/advice';
import { chooseLanguage, loadLanguage, t, type Messages } from '../demo/messages';
import { en } from '../demo/messages/en';
import { zh } from '../demo/messages/zh';

// Messages without a word in Chinese.
const wordless = ['sentence', 'withNote', 'link.sentences', 'link.status', 'actions.quoted', 'upload.file', 'upload.sent', 'keys.names.escape'];

// Words that stay as they are, and what is within <>.
const names = /<[^<>]*>|Ovation|MP4|JPEG|PNG|GIF|WebP|WebM|QuickTime|kB|MB|Shift|Esc|alice/g;

test('the first language that the page has is chosen, otherwise English', () => {
  for (const [tags, language] of [
    [['zh-CN', 'en'], 'zh'],
    [['zh'], 'zh'],
    [['zh-Hant-TW'], 'zh'],
    [['ZH-cn'], 'zh'],
    [['fr', 'zh-CN', 'en'], 'zh'],
    [['en-GB', 'zh-CN'], 'en'],
    [['fr-FR', 'de'], 'en'],
    [['constructor', 'zha'], 'en'],
    [[], 'en'],
  ] as const) {
    assert.equal(chooseLanguage(tags), language, tags.join());
  }
});

test('messages are read in the language that is loaded', async () => {
  const limited = new CombinedError({ graphQLErrors: [{ message: 'input.name is taken', extensions: { code: 'BAD_USER_INPUT' } }] });
  assert.equal(t.save, 'Save');
  assert.equal(advise(limited).text, 'The name is taken.');
  await loadLanguage(['zh-CN', 'en']);
  assert.equal(t.lang, 'zh-Hans');
  assert.equal(advise(limited).text, zh.errors.badInput('The name is taken.'));
  await loadLanguage(['en']);
  assert.equal(t.save, 'Save');
});

test('plurals follow the rules of the language', () => {
  assert.deepEqual([0, 1, 2, 1_200].map(en.counts.likes), ['0 likes', '1 like', '2 likes', '1,200 likes']);
  assert.deepEqual([0, 1, 2].map(zh.counts.likes), ['0个赞', '1个赞', '2个赞']);
  assert.deepEqual([1, 2].map(en.counts.times), ['once', '2 times']);
  assert.equal(en.actions.like(undefined), 'Like');
  assert.equal(en.actions.like(3), 'Like, 3 likes');
});

test('numbers, times and lists have the forms of the language', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  const forms = ({ format }: Messages) => [
    format.compact(9_999),
    format.compact(12_345),
    format.percent(0.429),
    format.size(1_500_000),
    format.size(1_001),
    format.either(['J', 'K']),
    format.ago(now - 59_000, now),
    format.ago(now - 3 * 60_000, now),
    format.ago(now - 5 * 3_600_000, now),
    format.ago(now - 31 * 86_400_000, now),
  ];
  assert.deepEqual(forms(en), ['9,999', '12.3K', '42%', '1.5 MB', '2 kB', 'J or K', undefined, '3m ago', '5h ago', 'Jan 29, 2026']);
  assert.deepEqual(forms(zh), ['9,999', '1.2万', '42%', '1.5 MB', '2 kB', 'J或K', undefined, '3分钟前', '5小时前', '2026年1月29日']);
});

test('every message is translated', () => {
  const english = texts(en);
  const untranslated = texts(zh).filter(([name, text], place) => text === english[place]![1] || name !== english[place]![0] || !/\p{Script=Han}/u.test(text));
  assert.deepEqual(
    untranslated.map(([name]) => name),
    wordless,
  );
});

test('no Chinese message has an English word', () => {
  assert.deepEqual(
    texts(zh).filter(([, text]) => /[a-z]{2,}/i.test(text.replaceAll(names, ''))),
    [],
  );
});

// What the server says of common mistakes. A text that is not listed in zh is shown as it is.
test('common mistakes are explained in Chinese', () => {
  for (const said of [
    'input.name is taken',
    'input.currentPassword is wrong',
    'You already have a folder of that name',
    'the default folder cannot be deleted; it can be renamed',
    'input.password is one of the most common passwords, which are guessed first; choose another one',
  ]) {
    const { text } = advise(new CombinedError({ graphQLErrors: [{ message: said, extensions: { code: 'BAD_USER_INPUT' } }] }));
    const chinese = zh.errors.badInput(text);
    assert.ok(!/[a-z]{2,}/i.test(chinese), chinese);
  }
});

test('the same part of a message is a link in both languages', () => {
  const parts = (messages: object) => texts(messages).map(([name, text]) => `${name} ${text.match(/[<>]/g)?.join('') ?? ''}`);
  assert.deepEqual(parts(zh), parts(en));
});

// texts returns the names of all messages with their texts, for 7 of whatever they count and
// with digits for the names in them.
function texts(messages: object, path = ''): (readonly [string, string])[] {
  return Object.entries(messages).flatMap(([key, value]): (readonly [string, string])[] => {
    if (path === '' && (key === 'lang' || key === 'format' || key === 'comma')) return [];
    const name = `${path}${key}`;
    if (typeof value === 'string') return [[name, value]];
    if (typeof value !== 'function') return texts(value as object, `${name}.`);
    return [[name, String((value as (...all: unknown[]) => unknown)(...(name === 'link.sentences' ? [['7', '8']] : [7, 8, 9])))]];
  });
}
