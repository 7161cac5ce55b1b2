import { memo, useId, type ReactNode } from 'react';
import { hash, type Item, type Topic } from '../content/catalogue';

// Cover draws the picture of an item: a print in two or three inks on paper, in which
// inks overprint each other. The same title always gives the same picture.
export const Cover = memo(function Cover({ item }: { item: Pick<Item, 'topic' | 'title'> }) {
  const dots = `dots-${useId().replaceAll(':', '')}`;
  const { paper, inks, draw } = prints[item.topic];
  const random = randomFrom(hash(item.title));
  const wide = 330 + random() * 70; // width of the visible part
  const view = `${random() * (400 - wide)} ${random() * (300 - wide * 0.75)} ${wide} ${wide * 0.75}`;
  const mirrored = item.topic !== 'print' && random() > 0.5;
  const first = hash(item.title) % inks.length;
  const turned = inks.map((_, place) => inks[(first + place) % inks.length]) as unknown as Inks;
  return (
    <svg className="cover" viewBox={view} preserveAspectRatio="xMidYMid slice" aria-hidden="true" focusable="false">
      <defs>
        <pattern id={dots} width="9" height="9" patternUnits="userSpaceOnUse" patternTransform={`rotate(${15 + random() * 60})`}>
          <circle cx="4.5" cy="4.5" r="2.3" fill={turned[0]} />
        </pattern>
      </defs>
      <rect width="400" height="300" fill={paper} />
      <g className="inks" transform={mirrored ? 'matrix(-1 0 0 1 400 0)' : undefined}>
        {draw(turned, random, `url(#${dots})`)}
      </g>
    </svg>
  );
});

type Inks = readonly [string, string, string];
type Draw = (inks: Inks, random: () => number, dots: string) => ReactNode;

const ink = {
  pink: '#ff4fa3',
  red: '#ff5a4e',
  orange: '#ff8a2b',
  sun: '#ffc42e',
  yellow: '#ffe54a',
  mint: '#79d8c2',
  green: '#18a56b',
  teal: '#0b8a92',
  aqua: '#57c3ea',
  blue: '#1c6fd1',
  navy: '#2f4380',
  violet: '#7d5fc4',
};

const prints: Record<Topic, { paper: string; inks: Inks; draw: Draw }> = {
  kitchen: { paper: '#fff6ea', inks: [ink.orange, ink.sun, ink.mint], draw: plates },
  trails: { paper: '#f1f6ee', inks: [ink.green, ink.orange, ink.aqua], draw: ridges },
  night: { paper: '#e9e8f7', inks: [ink.pink, ink.blue, ink.violet], draw: trailsOfStars },
  workshop: { paper: '#faf3e8', inks: [ink.orange, ink.navy, ink.sun], draw: boards },
  sea: { paper: '#eaf6f8', inks: [ink.blue, ink.mint, ink.red], draw: waves },
  city: { paper: '#f3f0fa', inks: [ink.violet, ink.yellow, ink.blue], draw: houses },
  garden: { paper: '#f3f8ea', inks: [ink.green, ink.pink, ink.yellow], draw: leaves },
  sound: { paper: '#fceff5', inks: [ink.pink, ink.navy, ink.aqua], draw: grooves },
  print: { paper: '#fbf6ec', inks: [ink.red, ink.aqua, ink.yellow], draw: sheets },
  wheels: { paper: '#eef4fb', inks: [ink.teal, ink.orange, ink.pink], draw: wheels },
};

const times = <T,>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

function plates(inks: Inks, random: () => number, dots: string) {
  const x = 150 + random() * 100;
  const y = 140 + random() * 30;
  const r = 96 + random() * 22;
  const turn = random() * 360;
  const fork = x > 200 ? x - r - 26 : x + r + 26; // on the side with more room
  const slice = (size: number) => `M${-size} 0A${size} ${size} 0 0 0 ${size} 0Z`;
  return (
    <>
      <circle cx={x} cy={y} r={r} fill={inks[1]} />
      <circle cx={x} cy={y} r={r * 0.74} fill="none" stroke={inks[0]} strokeWidth="2.5" />
      <g transform={`translate(${x - 26} ${y + 6}) rotate(${turn})`}>
        <path d={slice(58)} fill={inks[0]} />
        <path d="M0 0V50M0 0L-34 38M0 0L34 38M0 0L-50 14M0 0L50 14" stroke={inks[1]} strokeWidth="3" />
      </g>
      <path d={slice(44)} fill={dots} transform={`translate(${x + 52} ${y - 34}) rotate(${turn + 140})`} />
      <path d={slice(36)} fill={inks[2]} transform={`translate(${x + 40} ${y + 48}) rotate(${turn + 230})`} />
      {times(5, (i) => (
        <circle key={i} cx={random() * 400} cy={random() * 300} r={9 + random() * 17} fill={i % 2 ? inks[2] : inks[0]} />
      ))}
      <path d={`M${fork} 40V128M${fork - 12} 40V96Q${fork} 124 ${fork + 12} 96V40M${fork} 118V276`} fill="none" stroke={inks[2]} strokeWidth="6" strokeLinecap="round" />
    </>
  );
}

function ridges(inks: Inks, random: () => number, dots: string) {
  const ridge = (base: number, rough: number) => {
    const tops = times(9, (i) => `${i * 55 - 20} ${base - random() * rough}`);
    return `M-20 320L${tops.join('L')}L420 320Z`;
  };
  const x = 70 + random() * 260;
  return (
    <>
      <circle cx={x} cy={88 + random() * 40} r={44 + random() * 22} fill={inks[1]} />
      <path d={ridge(180, 95)} fill={inks[2]} />
      <path d={ridge(225, 80)} fill={dots} />
      <path d={ridge(272, 62)} fill={inks[0]} />
    </>
  );
}

function trailsOfStars(inks: Inks, random: () => number, dots: string) {
  const cx = 90 + random() * 220;
  const cy = 210 + random() * 80;
  return (
    <>
      <rect width="400" height="300" fill={inks[2]} opacity="0.9" />
      {times(11, (i) => {
        const r = 34 + i * 26;
        const length = r * (1.2 + random() * 2.2);
        return (
          <circle
            key={i}
            cx={cx}
            cy={cy}
            r={r}
            fill="none"
            stroke={i % 3 === 0 ? inks[1] : inks[0]}
            strokeWidth={2.5 + random() * 5}
            strokeLinecap="round"
            strokeDasharray={`${length} ${r * 7}`}
            transform={`rotate(${180 + random() * 150} ${cx} ${cy})`}
          />
        );
      })}
      <path d={`M-10 310V${250 + random() * 20}L140 ${262 + random() * 20}L270 ${246 + random() * 20}L410 ${268 + random() * 16}V310Z`} fill={inks[0]} />
      <circle cx={400 - cx} cy={60 + random() * 40} r="30" fill={dots} />
    </>
  );
}

function boards(inks: Inks, random: () => number, dots: string) {
  const teeth = 5 + Math.floor(random() * 3);
  const step = 320 / teeth;
  const x = 150 + random() * 90;
  const edge = times(teeth, (i) => `L${x + 46} ${i * step + 10}L${x + 46} ${i * step + step / 2}L${x} ${i * step + step / 2 - 10}L${x} ${(i + 1) * step}`);
  return (
    <>
      <path d={`M-10 -10H${x}L${x} 0${edge.join('')}V320H-10Z`} fill={inks[0]} />
      <path d={`M${x + 22} -10H410V310H${x + 22}Z`} fill={inks[2]} />
      {times(6, (i) => (
        <path key={i} d={`M-10 ${30 + i * 52 + random() * 14}C60 ${10 + i * 52} 100 ${64 + i * 50} ${x} ${34 + i * 52}`} fill="none" stroke={inks[1]} strokeWidth="2.5" />
      ))}
      <circle cx={x + 120 + random() * 40} cy={80 + random() * 140} r={38 + random() * 18} fill={dots} />
      <circle cx={x + 140} cy={90 + random() * 120} r="17" fill={inks[1]} />
    </>
  );
}

function waves(inks: Inks, random: () => number, dots: string) {
  const wave = (y: number, high: number, long: number) => {
    const crests = times(8, (i) => `Q${i * long + long / 2} ${y + (i % 2 ? high : -high)} ${(i + 1) * long} ${y}`);
    return `M-30 320V${y}L0 ${y}${crests.join('')}V320Z`;
  };
  const sail = 110 + random() * 170;
  return (
    <>
      <circle cx={60 + random() * 280} cy={70 + random() * 30} r={36 + random() * 24} fill={inks[2]} />
      <path d={`M${sail} ${60 + random() * 20}V190H${sail + 74}Z`} fill={dots} />
      <path d={`M${sail - 8} 84V190H${sail - 54}Z`} fill={inks[1]} />
      <path d={wave(186, 20, 76 + random() * 30)} fill={inks[1]} />
      <path d={wave(218, 26, 92 + random() * 30)} fill={inks[0]} />
      <path d={wave(262, 16, 62 + random() * 30)} fill={inks[2]} opacity="0.9" />
    </>
  );
}

function houses(inks: Inks, random: () => number, dots: string) {
  let x = -10;
  const blocks: { x: number; wide: number; high: number; fill: string }[] = [];
  while (x < 400) {
    const wide = 44 + random() * 52;
    blocks.push({ x, wide, high: 90 + random() * 160, fill: [inks[0], inks[2], dots][blocks.length % 3]! });
    x += wide - 8;
  }
  return (
    <>
      <circle cx={80 + random() * 240} cy="84" r={52 + random() * 18} fill={inks[1]} />
      {blocks.map((block) => (
        <g key={block.x}>
          <rect x={block.x} y={300 - block.high} width={block.wide} height={block.high} fill={block.fill} />
          {times(Math.floor(block.high / 34), (row) =>
            times(2, (column) =>
              random() > 0.45 ? (
                <rect key={`${row} ${column}`} x={block.x + 10 + column * (block.wide / 2 - 4)} y={312 - block.high + row * 32} width="11" height="15" fill={inks[1]} />
              ) : null,
            ),
          )}
        </g>
      ))}
    </>
  );
}

function leaves(inks: Inks, random: () => number, dots: string) {
  const x = 150 + random() * 100;
  const leaf = (size: number) => `M0 0C${size * 0.5} ${-size * 0.45} ${size * 0.95} ${-size * 0.3} ${size} 0C${size * 0.95} ${size * 0.3} ${size * 0.5} ${size * 0.45} 0 0Z`;
  return (
    <>
      <circle cx={x + (random() - 0.5) * 120} cy={120 + random() * 30} r={72 + random() * 24} fill={inks[2]} />
      <path d={`M${x} 320C${x - 10} 220 ${x + 16} 130 ${x + 4} 50`} fill="none" stroke={inks[0]} strokeWidth="6" strokeLinecap="round" />
      {times(8, (i) => (
        <path
          key={i}
          d={leaf(74 + random() * 56)}
          fill={i % 3 === 1 ? inks[1] : i % 3 === 2 ? dots : inks[0]}
          transform={`translate(${x + 2} ${268 - i * 28}) rotate(${i % 2 ? -148 - random() * 34 : -32 + random() * 34})`}
        />
      ))}
    </>
  );
}

function grooves(inks: Inks, random: () => number, dots: string) {
  const x = 130 + random() * 150;
  const y = 130 + random() * 50;
  return (
    <>
      <circle cx={x} cy={y} r="126" fill={inks[1]} />
      {times(6, (i) => (
        <circle key={i} cx={x} cy={y} r={54 + i * 12} fill="none" stroke={inks[0]} strokeWidth={1.5 + random() * 2} />
      ))}
      <circle cx={x} cy={y} r="38" fill={inks[0]} />
      <circle cx={x} cy={y} r="7" fill={inks[1]} />
      {times(9, (i) => {
        const high = 24 + random() * 120;
        return <rect key={i} x={18 + i * 43} y={300 - high} width="24" height={high} fill={i % 2 ? dots : inks[2]} />;
      })}
    </>
  );
}

function sheets(inks: Inks, random: () => number, dots: string) {
  const letters = 'aegkrsRQ&?';
  const letter = letters[Math.floor(random() * letters.length)];
  const turn = -12 + random() * 24;
  return (
    <>
      <rect x="52" y="34" width="206" height="250" fill={inks[2]} transform={`rotate(${turn} 150 150)`} />
      <rect x="170" y="58" width="180" height="210" fill={dots} transform={`rotate(${-turn / 2} 260 160)`} />
      <text x="200" y="246" fontSize="290" textAnchor="middle" className="cover-letter" fill={inks[1]} transform={`rotate(${turn / 3} 200 150)`}>
        {letter}
      </text>
      <path d={`M0 ${40 + random() * 220}H400`} stroke={inks[0]} strokeWidth="10" />
    </>
  );
}

function wheels(inks: Inks, random: () => number, dots: string) {
  const r = 62 + random() * 18;
  const y = 196;
  const spokes = (cx: number) =>
    times(8, (i) => <path key={i} d={`M${cx} ${y}l${r * Math.cos(i * 0.785 + random() * 0.2)} ${r * Math.sin(i * 0.785)}`} stroke={inks[0]} strokeWidth="2" />);
  const far = 400 - 104;
  return (
    <>
      {times(4, (i) => (
        <path key={i} d={`M-20 ${20 + i * 34 + random() * 10}L420 ${-50 + i * 34 + random() * 30}`} stroke={i % 2 ? dots : inks[2]} strokeWidth={12 + random() * 14} />
      ))}
      <circle cx="104" cy={y} r={r} fill={inks[1]} />
      <circle cx={far} cy={y} r={r} fill={dots} />
      {[104, far].map((cx) => (
        <g key={cx}>
          <circle cx={cx} cy={y} r={r} fill="none" stroke={inks[0]} strokeWidth="9" />
          {spokes(cx)}
        </g>
      ))}
      <path d={`M104 ${y}L178 ${y - 84}H270L206 ${y}ZM178 ${y - 84}L206 ${y}M${far} ${y}L262 ${y - 108}H236`} fill="none" stroke={inks[2]} strokeWidth="8" strokeLinejoin="round" />
      <path d={`M-10 ${y + r + 6}H410`} stroke={inks[0]} strokeWidth="5" />
    </>
  );
}

// randomFrom returns a generator of numbers from 0 to below 1 that depend on the seed
// alone: a linear congruential generator, which is random enough for pictures.
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
