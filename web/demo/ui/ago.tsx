import { useEffect, useState } from 'react';
import { t } from '../messages';

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
    <time dateTime={at} title={t.format.time(time)}>
      {t.format.ago(time.getTime(), now) ?? t.justNow}
    </time>
  );
}
