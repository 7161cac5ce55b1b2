import { useRef } from 'react';

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

// inFull returns a number as screen readers read it.
export const inFull = (value: number) => whole.format(value);

// inShort returns a number in the short form that cards show.
const inShort = (value: number) => (value < 10_000 ? whole : short).format(value);

// RollingNumber shows a count. When it changes, the digits that differ roll: upwards to a
// higher number, downwards to a lower one. It is hidden from screen readers, which read
// the name of the element around it.
export function RollingNumber({ value }: { value: number | undefined }) {
  const step = useRef({ from: value, to: value, count: 0 });
  if (step.current.to !== value) {
    // The first known number appears without rolling.
    const from = step.current.to ?? value;
    step.current = { from, to: value, count: step.current.count + 1 };
  }
  const { from, to, count } = step.current;
  if (to === undefined) return <span className="number" data-unknown aria-hidden="true">–</span>;

  const text = inShort(to);
  const before = inShort(from ?? to).padStart(text.length, ' ').slice(-text.length);
  const up = (from ?? to) <= to;
  return (
    <span className="number" data-moved={count > 0 && from !== to ? (up ? 'up' : 'down') : undefined} key={count} aria-hidden="true">
      {[...text].map((char, place) =>
        char === before[place] ? (
          <span key={place}>{char}</span>
        ) : (
          <span key={place} className="roll">
            <span className="roll-out">{before[place]}</span>
            <span className="roll-in">{char}</span>
          </span>
        ),
      )}
    </span>
  );
}
