import type { ReactNode } from 'react';

// Marked shows a message, in which <> stand around one part: a link, a button or code. There
// may be others within the part.
export function Marked({ text, children: show }: { text: string; children: (part: string) => ReactNode }) {
  const [from, to] = [text.indexOf('<'), text.lastIndexOf('>')];
  return (
    <>
      {text.slice(0, from)}
      {show(text.slice(from + 1, to))}
      {text.slice(to + 1)}
    </>
  );
}
