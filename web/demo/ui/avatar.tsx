import { hash } from '../content/catalogue';

const shades = 6;

// Avatar represents a user by a letter on a colour that derives from the name.
export function Avatar({ name, size }: { name: string | null; size?: 'small' | 'large' }) {
  const letter = name === null ? '?' : [...name][0]!.toUpperCase();
  return (
    <span
      className="avatar"
      data-shade={name === null ? 'none' : (hash(name) >>> 7) % shades}
      data-size={size}
      data-letter={letter}
      aria-hidden="true"
    />
  );
}
