// Formats are the formats of one language.
export type Formats = ReturnType<typeof formatsOf>;

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

// formatsOf returns the formats of a language, a tag such as zh-Hans.
export function formatsOf(lang: string) {
  const whole = new Intl.NumberFormat(lang);
  const short = new Intl.NumberFormat(lang, { notation: 'compact', maximumFractionDigits: 1 });
  const share = new Intl.NumberFormat(lang, { style: 'percent' });
  const kilobytes = new Intl.NumberFormat(lang, { style: 'unit', unit: 'kilobyte' });
  const megabytes = new Intl.NumberFormat(lang, { style: 'unit', unit: 'megabyte', minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const rules = new Intl.PluralRules(lang);
  const either = new Intl.ListFormat(lang, { type: 'disjunction' });
  const relative = new Intl.RelativeTimeFormat(lang, { numeric: 'always', style: 'narrow' });
  const date = new Intl.DateTimeFormat(lang, { dateStyle: 'medium' });
  const day = new Intl.DateTimeFormat(lang, { weekday: 'long', day: 'numeric', month: 'long' });
  const clock = new Intl.DateTimeFormat(lang, { timeStyle: 'short' });
  const time = new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeStyle: 'short' });
  const number = (value: number) => whole.format(value);
  return {
    number,

    // compact returns a number in the short form that cards show.
    compact: (value: number) => (value < 10_000 ? whole : short).format(value),

    // percent returns a share, from 0 to 1, in whole percents.
    percent: (value: number) => share.format(Math.floor(value * 100) / 100),

    // size returns a number of bytes in kilobytes or megabytes.
    size: (bytes: number) => (bytes < 1_000_000 ? kilobytes.format(Math.ceil(bytes / 1_000)) : megabytes.format(bytes / 1_000_000)),

    // plural returns the form for a number, which takes the place of #.
    plural: (value: number, forms: Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string }) =>
      (forms[rules.select(value)] ?? forms.other).replace('#', number(value)),

    either: (all: readonly string[]) => either.format(all),

    // ago returns how long ago a time was, up to 30 days, then the date. It is undefined for
    // less than a minute. Times are in milliseconds since 1970.
    ago(at: number, now: number): string | undefined {
      const seconds = (now - at) / 1_000;
      if (seconds > 30 * 86_400) return date.format(at);
      const unit = units.find(([, length]) => seconds >= length);
      return unit && relative.format(-Math.floor(seconds / unit[1]), unit[0]);
    },

    day: (at: Date) => day.format(at),
    clock: (at: Date) => clock.format(at),
    time: (at: Date) => time.format(at), // with the date
  };
}
