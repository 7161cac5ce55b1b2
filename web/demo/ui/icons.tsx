// The page's icons: 24 by 24, drawn with the text's colour. They say nothing to
// screen readers; what they stand on has a name.
const paths = {
  heart: 'M12 20.3C6.6 16 3.4 12.9 3.4 9.2A4.8 4.8 0 0 1 12 6.3a4.8 4.8 0 0 1 8.6 2.9c0 3.7-3.2 6.8-8.6 11.1Z',
  down: 'M16.5 4H8.2a3 3 0 0 0-2.9 2.2L3.8 11.7a2 2 0 0 0 1.9 2.6H10l-.9 4.2a2 2 0 0 0 2 2.4l4.7-6.5M16.5 4v10.4M16.5 4H20v10.4h-3.5',
  keep: 'M6.5 4.8A1.8 1.8 0 0 1 8.3 3h7.4a1.8 1.8 0 0 1 1.8 1.8V21L12 16.8 6.5 21Z',
  eye: 'M2.6 12S6 5.8 12 5.8 21.4 12 21.4 12 18 18.2 12 18.2 2.6 12 2.6 12Z M12 9.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6Z',
  play: 'M8 5.5v13l10.5-6.5Z',
  feed: 'M4 4h7v9H4Z M13.5 4H20v5h-6.5Z M13.5 11.5H20V20h-6.5Z M4 15.5h7V20H4Z',
  folder: 'M3.5 6.8A1.8 1.8 0 0 1 5.3 5h4l2 2.6h7.4a1.8 1.8 0 0 1 1.8 1.8v7.8a1.8 1.8 0 0 1-1.8 1.8H5.3a1.8 1.8 0 0 1-1.8-1.8Z',
  plus: 'M12 5v14 M5 12h14',
  check: 'm5 12.6 4.6 4.6L19.2 7.4',
  close: 'M6 6l12 12 M18 6 6 18',
  clock: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17Z M12 7.5V12l3 2',
  lock: 'M6 11h12v9H6Z M8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  globe: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17Z M3.7 12h16.6 M12 3.5c-5 5-5 12 0 17 5-5 5-12 0-17Z',
  back: 'M14.5 5.5 8 12l6.5 6.5',
  copy: 'M9 9h11v11H9Z M15 9V4H4v11h5',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }) {
  return (
    <svg className="icon" data-filled={filled || undefined} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
