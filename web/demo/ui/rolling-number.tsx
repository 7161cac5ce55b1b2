import { useRef } from 'react';
import { t } from '../messages';

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

  const text = t.format.compact(to);
  const before = t.format.compact(from ?? to).padStart(text.length, ' ').slice(-text.length);
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
