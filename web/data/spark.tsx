import { number } from './parts';

const high = 24; // pixels
const step = 5; // pixels for an hour

// Spark shows how much changed in each hour of the last day.
export function Spark({ hours }: { hours: readonly number[] | undefined }) {
  if (!hours) return <span className="spark-none">nothing</span>;
  const most = Math.max(...hours, 1);
  const total = hours.reduce((sum, one) => sum + one, 0);
  return (
    <svg className="spark" viewBox={`0 0 ${hours.length * step} ${high}`} role="img" aria-label={`${number(total)} in the last day, at most ${number(most)} an hour`}>
      {hours.map((changes, hour) => {
        const size = changes === 0 ? 1 : Math.max(2, (changes / most) * high);
        return (
          <rect key={hour} x={hour * step} y={high - size} width={step - 1} height={size} rx="1" data-none={changes === 0 || undefined}>
            <title>{`${number(changes)}, ${hours.length - hour} hours ago`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

// sumOf adds up the hours of several kinds.
export function sumOf(all: readonly (readonly number[])[]): readonly number[] | undefined {
  return all.length === 0 ? undefined : all[0]!.map((_, hour) => all.reduce((sum, hours) => sum + hours[hour]!, 0));
}
