// What a check prints when it fails. Of the output of a failing test CI shows the end, so
// that the last lines say what has failed.
import { stripVTControlCharacters } from 'node:util';

const shown = 5; // faults of each page
const longest = 300; // characters of a line

// The visit in which an error was thrown, and the pages that were open.
const visits = new WeakMap();

// note notes the name of the visit that an error has ended, and its pages: the URL and the
// faults of each.
export function note(error, visit, pages) {
  visits.set(error, { visit, pages });
}

// linesOf says in a few short lines what an error has ended, why and where.
export function linesOf(error) {
  const { visit, pages } = visits.get(error) ?? { visit: 'outside of a visit', pages: [] };
  return [
    `fault: ${visit}: ${firstOf(error.message)}`,
    `  at ${placesIn(error.stack).join(' < ') || 'a place that is not known'}`,
    ...pages.flatMap(({ url, faults }) => [`  page ${url}`, ...faults.slice(-shown).map((fault) => `    ${firstOf(fault)}`)]),
  ].map((line) => line.slice(0, longest));
}

// firstOf is the first line of a text. One that ends with a colon, such as those of
// assertions without a message, is followed by the others.
function firstOf(text) {
  const [first = '', ...rest] = stripVTControlCharacters(text)
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  return first.endsWith(':') ? [first, ...rest].join(' ') : first;
}

// placesIn are the frames of a stack that lie in the checks, the innermost first. What
// waits for something to hold says nothing of where that is.
function placesIn(stack) {
  const all = [...stack.matchAll(/web\/check\/([\w.-]+:\d+:\d+)/g)].map(([, place]) => place);
  const checks = all.filter((place) => !place.startsWith('browser.mjs:'));
  return checks.length > 0 ? checks : all;
}

// exitWithFaults has an error that nothing catches end the process with 1, after the
// error itself and those lines are printed.
export function exitWithFaults() {
  process.on('uncaughtException', (thrown) => {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    console.error(error.stack);
    for (const { url, faults } of visits.get(error)?.pages ?? []) console.error([`faults of ${url}:`, ...faults].join('\n'));
    console.error(linesOf(error).join('\n'));
    process.exit(1);
  });
}
