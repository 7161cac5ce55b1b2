import { useState } from 'react';
import { hash } from '../content/catalogue';

const shades = 6;

interface Props {
  name: string | null;
  picture?: string | null | undefined; // the avatarUrl of the profile
  size?: 'small' | 'large';
}

// Avatar represents a user by a picture or, without one, by a letter on a colour that derives
// from the name. Pictures of other sites are not loaded: they would learn who visits this one.
export function Avatar({ name, picture, size }: Props) {
  const [failed, setFailed] = useState<string>();
  const letter = name === null ? '?' : [...name][0]!.toUpperCase();
  return (
    <span
      className="avatar"
      data-shade={name === null ? 'none' : (hash(name) >>> 7) % shades}
      data-size={size}
      data-letter={letter}
      aria-hidden="true"
    >
      {picture?.startsWith('/') && picture !== failed && <img src={picture} alt="" loading="lazy" decoding="async" onError={() => setFailed(picture)} />}
    </span>
  );
}
