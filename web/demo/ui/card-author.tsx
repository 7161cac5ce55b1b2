import type { ItemFragment } from '../operations';
import { links } from '../route';
import { Avatar } from './avatar';
import { FollowButton } from './follow-button';
import { useName, usePicture } from './name';

// CardAuthor shows the author of an item, with a button to follow them. Its place is kept
// free until the author is known.
export function CardAuthor({ author, onLeave }: { author: ItemFragment['author'] | undefined; onLeave?: () => void }) {
  const name = useName(author?.userId ?? null);
  const picture = usePicture(author?.userId ?? null);
  if (!author) return <p className="card-author" />;
  return (
    <p className="card-author">
      <a className="person-name" href={links.person(author.userId)} onClick={onLeave}>
        <Avatar name={name} picture={picture} size="small" />
        <span>{name}</span>
      </a>
      <FollowButton person={author.interactive} plain />
    </p>
  );
}
