import { useEffect, useRef, type MouseEvent } from 'react';

const within = 260; // milliseconds between the taps of a double tap

export interface Spot {
  readonly x: number; // pixels from the left edge of the element
  readonly y: number; // from its top
}

// useTaps distinguishes taps and double taps on an element. A tap is reported once no other
// one can follow; a press of a key at once.
export function useTaps(single: () => void, double: (at: Spot) => void): (event: MouseEvent) => void {
  const latest = useRef(single);
  latest.current = single;
  const last = useRef(-Infinity);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => () => clearTimeout(timer.current), []);
  return ({ detail, timeStamp, clientX, clientY, currentTarget }) => {
    if (detail === 0) return latest.current();
    const again = timeStamp - last.current < within;
    last.current = timeStamp;
    clearTimeout(timer.current);
    if (!again) {
      timer.current = setTimeout(() => latest.current(), within);
      return;
    }
    const { left, top } = currentTarget.getBoundingClientRect();
    double({ x: clientX - left, y: clientY - top });
  };
}
