import type { ReactNode } from 'react';
import { links } from './route';
import { useTitle } from './titles';

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

// SubjectLink links to a subject by its title, with the id beside it.
export function SubjectLink({ biz, bizId }: { biz: string; bizId: string }) {
  const title = useTitle({ biz, bizId });
  return <Titled to={links.subject(biz, bizId)} title={title} id={`${biz} ${bizId}`} />;
}

// UserLink links to a user, or names all anonymous viewers together.
export function UserLink({ id }: { id: string }) {
  const name = useTitle({ biz: 'user', bizId: id });
  return id ? <Titled to={links.user(id)} title={name} id={id} /> : <span>anonymous visitors</span>;
}

function Titled({ to, title, id }: { to: string; title: string | undefined; id: string }) {
  if (title === undefined) return <a href={to}>{id}</a>;
  return (
    <a href={to}>
      {title} <span className="id">{id}</span>
    </a>
  );
}

// Counts shows numbers with their names.
export function Counts({ all }: { all: Readonly<Record<string, number>> }) {
  return (
    <dl className="counts">
      {Object.entries(all).map(([name, count]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{number(count)}</dd>
        </div>
      ))}
    </dl>
  );
}

// Choice is a filter with a few values.
export function Choice<T extends string>({ label, value, of, onChange }: { label: string; value: T; of: Readonly<Record<T, string>>; onChange: (value: T) => void }) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value as T)}>
        {Object.entries<string>(of).map(([one, name]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

// kindsOf are the choices of a kind of content, or of every kind.
export const kindsOf = (kinds: readonly string[]): Record<string, string> => ({ '': 'every kind', ...Object.fromEntries(kinds.map((kind) => [kind, kind])) });

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
