// The texts of the page, in the language of the browser. Each language has a file with all
// messages: en.ts defines which there are, and the others have its type. A message with
// parameters is a function.
import { en } from './en';

export type Messages = typeof en;

// The languages besides English, by the first part of their tags. Each is loaded only where
// it is used.
const others: Readonly<Record<string, () => Promise<Messages>>> = {
  zh: async () => (await import('./zh')).zh,
};

// t has the messages of the page. They are English until loadLanguage has returned: read them
// when something is rendered or reported, not when a module is loaded.
export let t: Messages = en;

// chooseLanguage returns the first part of the first tag whose language the page has; en if
// it has none of them. The tags are in the order of preference, such as navigator.languages.
export function chooseLanguage(tags: readonly string[]): string {
  const languages = tags.map((tag) => tag.toLowerCase().split('-')[0]!);
  return languages.find((language) => language === 'en' || Object.hasOwn(others, language)) ?? 'en';
}

// loadLanguage loads the messages for the preferred languages of a user. If they cannot be
// loaded, it throws, and the messages stay as they are.
export async function loadLanguage(tags: readonly string[]): Promise<void> {
  t = (await others[chooseLanguage(tags)]?.()) ?? en;
}
