// The icons of the page: 24 by 24, in the colour of the text. They are hidden from screen
// readers; the elements that contain them have names.
const paths = {
  heart: 'M12 20.3C6.6 16 3.4 12.9 3.4 9.2A4.8 4.8 0 0 1 12 6.3a4.8 4.8 0 0 1 8.6 2.9c0 3.7-3.2 6.8-8.6 11.1Z',
  down: 'M16.5 4H8.2a3 3 0 0 0-2.9 2.2L3.8 11.7a2 2 0 0 0 1.9 2.6H10l-.9 4.2a2 2 0 0 0 2 2.4l4.7-6.5M16.5 4v10.4M16.5 4H20v10.4h-3.5',
  collect: 'M6.5 4.8A1.8 1.8 0 0 1 8.3 3h7.4a1.8 1.8 0 0 1 1.8 1.8V21L12 16.8 6.5 21Z',
  eye: 'M2.6 12S6 5.8 12 5.8 21.4 12 21.4 12 18 18.2 12 18.2 2.6 12 2.6 12Z M12 9.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6Z',
  play: 'M8 5.5v13l10.5-6.5Z',
  feed: 'M4 4h7v9H4Z M13.5 4H20v5h-6.5Z M13.5 11.5H20V20h-6.5Z M4 15.5h7V20H4Z',
  folder: 'M3.5 6.8A1.8 1.8 0 0 1 5.3 5h4l2 2.6h7.4a1.8 1.8 0 0 1 1.8 1.8v7.8a1.8 1.8 0 0 1-1.8 1.8H5.3a1.8 1.8 0 0 1-1.8-1.8Z',
  talk: 'M4 6.3A2.3 2.3 0 0 1 6.3 4h11.4A2.3 2.3 0 0 1 20 6.3v7.9a2.3 2.3 0 0 1-2.3 2.3h-6.2L7 20.4v-3.9h-.7A2.3 2.3 0 0 1 4 14.2Z',
  people: 'M9 4.4a3.4 3.4 0 1 0 0 6.8 3.4 3.4 0 0 0 0-6.8Z M2.8 19.6a6.2 6.2 0 0 1 12.4 0Z M15.6 4.9a3.2 3.2 0 0 1 0 5.9 M17.6 14.2a6 6 0 0 1 3.6 5.4',
  person: 'M12 4a3.7 3.7 0 1 0 0 7.4A3.7 3.7 0 0 0 12 4Z M4.8 20a7.2 7.2 0 0 1 14.4 0Z',
  mail: 'M4.5 5.5h15A1.5 1.5 0 0 1 21 7v10a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 17V7a1.5 1.5 0 0 1 1.5-1.5Z M3.6 7l8.4 6 8.4-6',
  sound: 'M4 9.5h3.5L12 5.5v13l-4.5-4H4Z M15.5 9a4.2 4.2 0 0 1 0 6 M18 6.5a7.8 7.8 0 0 1 0 11',
  mute: 'M4 9.5h3.5L12 5.5v13l-4.5-4H4Z M16 9.5l5 5 M21 9.5l-5 5',
  pause: 'M8 5.5v13 M16 5.5v13',
  up: 'm5.5 14.5 6.5-6 6.5 6',
  next: 'm5.5 9.5 6.5 6 6.5-6',
  film: 'M4 5h16v14H4Z M8 5v14 M16 5v14 M4 9.5h4 M4 14.5h4 M16 9.5h4 M16 14.5h4',
  send: 'M20.4 3.6 3.6 10.4l6.8 3.2 3.2 6.8Z M10.4 13.6l4.4-4.4',
  more: 'M6 4v6.5a3 3 0 0 0 3 3h9 M14.5 10l3.5 3.5-3.5 3.5',
  plus: 'M12 5v14 M5 12h14',
  check: 'm5 12.6 4.6 4.6L19.2 7.4',
  close: 'M6 6l12 12 M18 6 6 18',
  clock: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17Z M12 7.5V12l3 2',
  lock: 'M6 11h12v9H6Z M8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  globe: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17Z M3.7 12h16.6 M12 3.5c-5 5-5 12 0 17 5-5 5-12 0-17Z',
  pen: 'M4 20h4L19.6 8.4a2.2 2.2 0 0 0-3.1-3.1L4.9 16.9 4 20Z M14.4 7.4l3.1 3.1',
  bin: 'M4.5 7h15 M9 7V4.5h6V7 M6.5 7l.9 12.5h9.2L17.5 7 M10.2 10.5v5.5 M13.8 10.5v5.5',
  back: 'M14.5 5.5 8 12l6.5 6.5',
  keys: 'M4 6.5h16v11H4Z M7.5 10h.01 M11 10h.01 M14.5 10h.01 M17 10h.01 M8.5 14h7',
  link: 'M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1.3 1.3 M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1.3-1.3',
  menu: 'M5 7h14 M5 12h14 M5 17h14',
  code: 'M8.5 7.5 4 12l4.5 4.5 M15.5 7.5 20 12l-4.5 4.5',
  table: 'M4 5.5h16v13H4Z M4 10h16 M9.5 5.5v13',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Z M15.3 15.3 20.5 20.5',
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
