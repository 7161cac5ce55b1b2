import { useEffect, useState } from 'react';

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
const short = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'narrow' });
const date = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const inFull = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'short' });
const everyMinute = 60_000;

// Ago shows how long ago a time was, with the exact time as its title.
export function Ago({ at }: { at: string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMinute);
    return () => clearInterval(timer);
  }, []);
  const time = new Date(at);
  return (
    <time dateTime={at} title={inFull.format(time)}>
      {ago(time, now)}
    </time>
  );
}

function ago(time: Date, now: number): string {
  const seconds = (now - time.getTime()) / 1_000;
  if (seconds > 30 * 86_400) return date.format(time);
  for (const [unit, length] of units) {
    if (seconds >= length) return short.format(-Math.floor(seconds / length), unit);
  }
  return 'just now';
}
