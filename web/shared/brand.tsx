// Brand is the mark of all pages. It leads to the demo.
export function Brand({ to = '/demo' }: { to?: string }) {
  return (
    <a className="brand" href={to}>
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <path d="M16 27 5.6 16.5a6.4 6.4 0 0 1 9-9L16 9l1.4-1.5a6.4 6.4 0 0 1 9 9Z" />
      </svg>
      Ovation
    </a>
  );
}
