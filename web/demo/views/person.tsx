import { useMemo } from 'react';
import { useQuery, useSubscription } from 'urql';
import { isKnown } from '../api/freshness';
import { t } from '../messages';
import { LiveDocument, PersonDocument, TotalsDocument } from '../operations';
import { links, sections, type Section } from '../route';
import { acceptsNames } from '../remembered';
import { useSession } from '../session';
import { Avatar } from '../ui/avatar';
import { ForUsers } from '../ui/empty';
import { FollowButton } from '../ui/follow-button';
import { useName, usePicture, useProfile } from '../ui/name';
import { Failed } from '../ui/pages';
import { PersonSection } from '../ui/person-sections';
import { Icon } from '../ui/icons';
import { RollingNumber } from '../ui/rolling-number';
import { openAccount, openLogin, openSwitch } from '../ui/viewer-dialog';

// Person shows a user and their sections. Without an id it is the viewer.
export function Person({ id, section }: { id: string | null; section: Section | null }) {
  const { userId } = useSession();
  const who = id ?? userId;
  return (
    <>
      {who === null && (
        <header className="intro">
          <h1>{t.titles.person}</h1>
        </header>
      )}
      <ForUsers>{who !== null && <Profile userId={who} section={section ?? 'clips'} />}</ForUsers>
    </>
  );
}

function Profile({ userId, section }: { userId: string; section: Section }) {
  const { known, userId: viewer } = useSession();
  const name = useName(userId);
  const picture = usePicture(userId);
  const signature = useProfile(userId)?.signature;
  const subjects = useMemo(() => [{ biz: 'user', bizId: userId }], [userId]);
  const [{ data, error }, again] = useQuery({ query: PersonDocument, variables: { userId }, requestPolicy: 'cache-and-network', pause: !known });
  useSubscription({ query: LiveDocument, variables: { subjects }, pause: !known });
  const retry = () => again({ requestPolicy: 'network-only' });
  if (error && !data) return <Failed error={error} onAgain={retry} />;
  const person = data?.user.interactive;
  const followers = person && isKnown(person.freshness) ? person.followerCount : undefined;
  return (
    <>
      <header className="intro profile">
        <div className="profile-who">
          <Avatar name={name} picture={picture} size="large" />
          <h1>{name}</h1>
          {person && <FollowButton person={person} />}
          {viewer === userId && <OwnActions />}
          {viewer !== null && viewer !== userId && (
            <a className="button" href={links.chat(userId)}>
              <Icon name="talk" />
              {t.people.message}
            </a>
          )}
          {signature && (
            <p className="profile-signature" dir="auto">
              {signature}
            </p>
          )}
        </div>
        <Numbers userId={userId} name={name} followers={followers} />
      </header>
      <nav className="sections" aria-label={t.people.sectionsOf(name)}>
        {sections.filter((one) => one !== 'reads' || userId === viewer).map((one) => (
          <a key={one} ref={one === section ? intoView : undefined} className="tab" href={links.person(userId, one)} aria-current={one === section ? 'page' : undefined}>
            {t.people.sections[one]}
          </a>
        ))}
      </nav>
      <div className="row-pages">
        <PersonSection key={section} userId={userId} section={section} />
      </div>
    </>
  );
}

// OwnActions lead to the account and, in development, to the switch between users.
function OwnActions() {
  const { account, tokensOnly } = useSession();
  return (
    <>
      {(account || tokensOnly) && (
        <button type="button" className="button" aria-haspopup="dialog" onClick={account ? openAccount : openLogin}>
          <Icon name="pen" />
          {t.people.account}
        </button>
      )}
      {acceptsNames() && !tokensOnly && (
        <button type="button" className="button quiet" aria-haspopup="dialog" onClick={openSwitch}>
          <Icon name="people" />
          {t.actAs.title}
        </button>
      )}
    </>
  );
}

// Numbers shows what a user did and received. The number of followers is live.
function Numbers({ userId, name: of, followers }: { userId: string; name: string; followers: number | undefined }) {
  const { known } = useSession();
  const [{ data }] = useQuery({ query: TotalsDocument, variables: { userId }, requestPolicy: 'cache-and-network', pause: !known });
  const totals = data?.user.totals;
  const rows = [
    [t.people.works, totals?.works],
    [t.people.followers, followers],
    [t.people.following, totals?.following],
    [t.people.likesReceived, totals?.likesReceived],
  ] as const;
  return (
    <dl className="tally" aria-label={t.people.numbersOf(of)}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <RollingNumber value={value} />
            <span className="unseen">{value === undefined ? t.unavailable : t.format.number(value)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

// intoView scrolls the row of sections, which is wider than a phone.
function intoView(link: HTMLElement | null): void {
  link?.parentElement?.scrollTo({ left: link.offsetLeft - link.parentElement.clientWidth / 2 });
}
