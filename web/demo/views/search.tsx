import { useEffect, useRef, useState } from 'react';
import { t } from '../messages';
import { SearchUsersDocument, SearchVideosDocument } from '../operations';
import { links } from '../route';
import { Icon } from '../ui/icons';
import { Pages } from '../ui/pages';
import { ClipsPage } from '../ui/person-clips';
import { PeoplePage } from '../ui/person-sections';

const maxText = 64; // characters, as the server allows
const pause = 300; // milliseconds without a key, after which the search begins
const peopleAtOnce = 10;
const clipsAtOnce = 24;

// Search finds people by their names and clips by their titles while the viewer types. The
// text is in the address.
export function Search({ text }: { text: string }) {
  const [typed, setTyped] = useState(text);
  const field = useRef<HTMLInputElement>(null);
  const sent = useRef(text);
  useEffect(() => {
    if (sent.current !== text) setTyped(text); // the address has changed by itself
    sent.current = text;
  }, [text]);
  useEffect(() => {
    if (!sent.current) field.current?.focus();
  }, []);
  const search = (next: string) => {
    if (next === sent.current) return;
    sent.current = next;
    location.replace(links.search(next));
  };
  const searched = useRef(search);
  searched.current = search;
  useEffect(() => {
    const timer = setTimeout(() => searched.current(typed.trim()), pause);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <>
      <header className="intro">
        <h1>{t.search.title}</h1>
        <form
          className="search"
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            search(typed.trim());
          }}
        >
          <Icon name="search" />
          <input
            ref={field}
            type="search"
            aria-label={t.search.label}
            placeholder={t.search.placeholder}
            autoComplete="off"
            enterKeyHint="search"
            dir="auto"
            maxLength={maxText}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </form>
      </header>
      {/[\p{L}\p{N}]/u.test(text) && <Found key={text} text={text} />}
    </>
  );
}

function Found({ text }: { text: string }) {
  return (
    <>
      <section className="found">
        <h2>{t.search.people}</h2>
        <div className="row-pages">
          <Pages
            label={t.more.people}
            query={SearchUsersDocument}
            variables={(after) => ({ text, first: peopleAtOnce, after })}
            info={({ searchUsers }) => searchUsers.pageInfo}
            page={({ data, first }) => {
              const list = data?.searchUsers;
              if (list && first && list.edges.length === 0 && !list.pageInfo.hasNextPage) return <p className="found-none">{t.search.nobody}</p>;
              return <PeoplePage people={list?.edges.map(({ node }) => node.interactive)} profiles={list?.edges.map(({ node }) => node.profile)} none={undefined} />;
            }}
          />
        </div>
      </section>
      <section className="found">
        <h2>{t.search.clips}</h2>
        <div className="covers">
          <Pages
            label={t.more.clips}
            auto
            query={SearchVideosDocument}
            variables={(after) => ({ text, first: clipsAtOnce, after })}
            info={({ searchVideos }) => searchVideos.pageInfo}
            page={({ data, first }) => {
              const list = data?.searchVideos;
              if (list && first && list.edges.length === 0 && !list.pageInfo.hasNextPage) return <p className="found-none">{t.search.noClip}</p>;
              return <ClipsPage clips={list?.edges.map(({ node }) => node)} />;
            }}
          />
        </div>
      </section>
    </>
  );
}
