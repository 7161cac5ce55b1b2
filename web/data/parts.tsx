import type { ReactNode } from 'react';
import { links } from './route';

const numbers = new Intl.NumberFormat('en');

export const number = (n: number) => numbers.format(n);

// Table is a table with a caption; numeric columns are aligned to the right.
export function Table({ caption, head, rows, empty }: { caption: string; head: readonly string[]; rows: readonly (readonly ReactNode[])[]; empty: string }) {
  return (
    <div className="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {head.map((title, n) => (
              <th key={title} scope="col" className={typeof rows[0]?.[n] === 'number' ? 'amount' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, n) =>
                typeof cell === 'number' ? (
                  <td key={n} className="amount">
                    {number(cell)}
                  </td>
                ) : (
                  <td key={n}>{cell}</td>
                ),
              )}
            </tr>
          ))}
          {rows.length === 0 && (
            <tr>
              <td colSpan={head.length}>{empty}</td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

export function SubjectLink({ biz, bizId }: { biz: string; bizId: string }) {
  return (
    <a href={links.subject(biz, bizId)}>
      {biz} {bizId}
    </a>
  );
}

// UserLink links to a user, or names all anonymous viewers together.
export function UserLink({ id }: { id: string }) {
  return id ? <a href={links.user(id)}>{id}</a> : <span>anonymous visitors</span>;
}

// When shows how long ago a time was, with the exact time as its title.
export function When({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at}>
      {ago(at)}
    </time>
  );
}

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];
const relative = new Intl.RelativeTimeFormat('en');

export function ago(at: string): string {
  const seconds = Math.max(0, (Date.now() - Date.parse(at)) / 1_000);
  const [unit, length] = units.find(([, one]) => seconds >= one) ?? ['second', 1];
  return seconds < 1 ? 'now' : relative.format(-Math.floor(seconds / length), unit);
}

export function Problem({ text }: { text: string }) {
  return text ? (
    <p className="problem" role="alert">
      {text}
    </p>
  ) : null;
}

// More says that a list continues.
export function More({ when, of }: { when: boolean; of: string }) {
  return when ? <p className="hint">There are more {of} than these.</p> : null;
}
