// The output of a failing check. CI shows the end of a failing test's output, so the last
// lines must say what failed.
import { stripVTControlCharacters } from 'node:util';

const shown = 5; // faults of each page
const longest = 300; // characters of a line

// The visit in which an error was thrown, and the open pages.
const visits = new WeakMap();

// note records the visit that an error has ended, and its pages with their URLs and faults.
export function note(error, visit, pages) {
  visits.set(error, { visit, pages });
}

// linesOf describes an error in a few short lines: the visit, the message, the place.
export function linesOf(error) {
  const { visit, pages } = visits.get(error) ?? { visit: 'outside of a visit', pages: [] };
  return [
    `fault: ${visit}: ${firstOf(error.message)}`,
    `  at ${placesIn(error.stack).join(' < ') || 'a place that is not known'}`,
    ...pages.flatMap(({ url, faults }) => [`  page ${url}`, ...faults.slice(-shown).map((fault) => `    ${firstOf(fault)}`)]),
  ].map((line) => line.slice(0, longest));
}

// firstOf returns the first line of a text. If it ends with a colon, as in assertions
// without a message, the other lines follow it.
function firstOf(text) {
  const [first = '', ...rest] = stripVTControlCharacters(text)
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  return first.endsWith(':') ? [first, ...rest].join(' ') : first;
}

// placesIn returns the frames of a stack that are in the checks, innermost first. Frames of
// browser.mjs are omitted, because helpers such as until do not show where the fault is.
function placesIn(stack) {
  const all = [...stack.matchAll(/web\/check\/([\w.-]+:\d+:\d+)/g)].map(([, place]) => place);
  const checks = all.filter((place) => !place.startsWith('browser.mjs:'));
  return checks.length > 0 ? checks : all;
}

// exitWithFaults makes an uncaught error end the process with 1, after the error and the
// lines about it are printed.
export function exitWithFaults() {
  process.on('uncaughtException', (thrown) => {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    console.error(error.stack);
    for (const { url, faults } of visits.get(error)?.pages ?? []) console.error([`faults of ${url}:`, ...faults].join('\n'));
    console.error(linesOf(error).join('\n'));
    process.exit(1);
  });
}
