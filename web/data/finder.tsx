import { useState, type FormEvent } from 'react';
import { links } from './route';
import { useTitles, type Titled } from './titles';

const most = 6; // titles that are shown

interface Found {
  readonly to: string;
  readonly what: string; // the title, or what the id may be
  readonly id: string;
}

// Finder leads to the subjects and users that a text may mean.
export function Finder({ kinds }: { kinds: readonly string[] }) {
  const [text, setText] = useState('');
  const titles = useTitles();
  const found = find(text.trim(), kinds, titles);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (found[0]) location.hash = found[0].to;
  };
  return (
    <form className="finder" role="search" aria-label="Find" onSubmit={submit}>
      <input
        type="search"
        value={text}
        onChange={(event) => setText(event.target.value)}
        aria-label="Find a subject or a user"
        placeholder="A title, video 1, or alice"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <button type="submit" className="button strong" disabled={found.length === 0}>
        Find
      </button>
      {found.length > 0 && (
        <ul className="found" aria-label="Found">
          {found.map(({ to, what, id }) => (
            <li key={to}>
              <a href={to}>
                <span>{what}</span> <span className="id">{id}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}

// find returns what a text may mean, the likeliest first.
function find(text: string, kinds: readonly string[], titles: readonly Titled[]): Found[] {
  if (!text) return [];
  const subject = (biz: string, bizId: string, what = 'Subject') => ({ to: links.subject(biz, bizId), what, id: `${biz} ${bizId}` });
  const [, biz, bizId] = /^([a-z][a-z0-9_-]{0,31})[\s/:]+(.+)$/.exec(text) ?? [];
  const named = titles
    .filter(({ title }) => title.toLowerCase().includes(text.toLowerCase()))
    .slice(0, most)
    .map((one) => subject(one.biz, one.bizId, one.title));
  const user = { to: links.user(text), what: 'User', id: text };
  const ofKinds = kinds.filter((kind) => kind !== 'user').map((kind) => subject(kind, text));
  if (biz && bizId) {
    const exact = subject(biz, bizId);
    return kinds.includes(biz) ? [exact, ...named] : [...named, exact, user];
  }
  return /^\d+$/.test(text) ? [...ofKinds, user, ...named] : [...named, user, ...ofKinds];
}
