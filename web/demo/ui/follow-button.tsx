import { isKnown } from '../api/freshness';
import { t } from '../messages';
import type { CardFragment, NamedFragment } from '../operations';
import { links } from '../route';
import { useSession } from '../session';
import { useActions } from './actions';
import { Avatar } from './avatar';
import { Icon } from './icons';
import { useName, usePicture } from './name';
import { openLogin } from './viewer-dialog';
import { useWaiting } from './will-send';

interface Props {
  readonly person: CardFragment;
  readonly profile?: NamedFragment['profile'] | undefined; // if it is known, it is not looked up
}

// FollowButton follows or unfollows a person. The change shows at once. The plain variant
// is for use beside a name.
export function FollowButton({ person: confirmed, profile, plain = false }: Props & { plain?: boolean }) {
  const { userId } = useSession();
  const { card: person, waiting } = useWaiting(confirmed);
  const name = useName(person.bizId, profile);
  const actions = useActions(person, name);
  if (person.bizId === userId) return null;
  const on = person.followed !== null;
  return (
    <button
      type="button"
      className={plain ? 'follow' : 'button follow'}
      data-on={on || undefined}
      data-waiting={waiting ? true : undefined}
      title={waiting}
      aria-label={t.withNote(on ? t.actions.unfollowWhom(name) : t.actions.followWhom(name), waiting)}
      onClick={() => (userId === null ? openLogin() : actions.follow(!on))}
    >
      <Icon name={on ? 'check' : 'plus'} />
      {on ? t.actions.following : t.actions.follow}
    </button>
  );
}

// PersonRow shows a person in a list.
export function PersonRow({ person: confirmed, profile }: Props) {
  const { card: person } = useWaiting(confirmed);
  const { userId } = useSession();
  const name = useName(person.bizId, profile);
  const picture = usePicture(person.bizId, profile);
  const known = isKnown(person.freshness);
  return (
    <li className="person-row">
      <a className="person-name" href={links.person(person.bizId)}>
        <Avatar name={name} picture={picture} />
        <span>{name}</span>
      </a>
      <span className="facts">
        {known ? t.counts.followers(person.followerCount) : t.people.followersUnavailable}
        {person.bizId === userId && t.people.you}
      </span>
      <FollowButton person={person} profile={profile} />
    </li>
  );
}
