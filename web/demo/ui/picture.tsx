import type { Item } from '../content/catalogue';
import { Cover } from './cover';

// Picture is the picture of an item: the cover of a clip, or a drawn one.
export function Picture({ item, coverUrl }: { item: Item; coverUrl: string | undefined }) {
  if (coverUrl === undefined) return <Cover item={item} />;
  return <img className="cover cover-clip" src={coverUrl} alt="" loading="lazy" decoding="async" />;
}
