import { t } from '../messages';

const byServer = 'Default'; // the name of a default folder until its owner changes it

// folderName returns the name of a folder, in the language of the page if the server chose it.
export function folderName({ name }: { readonly name: string }): string {
  return name === byServer ? t.folders.default : name;
}
