interface Props {
  readonly current: 'GraphiQL' | 'Data';
  readonly user?: string; // on whose behalf the other pages open; empty if anonymous
  readonly data?: boolean; // whether this server has the data page
}

// Pages are the tabs of the pages without views of their own.
export function Pages({ current, user = '', data = true }: Props) {
  const name = encodeURIComponent(user);
  const all = [
    { label: 'Demo', to: user ? `/demo#user=${name}` : '/demo' },
    { label: 'GraphiQL', to: user ? `/?user=${name}` : '/' },
    ...(data ? [{ label: 'Data', to: '/data' }] : []),
  ];
  return (
    <nav className="pages" aria-label="Pages">
      {all.map(({ label, to }) => (
        <a key={label} className="tab" href={to} aria-current={label === current ? 'page' : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}
