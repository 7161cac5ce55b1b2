// The content that the page shows. In an application this is the response of the content
// service: the items in their order, with titles and pictures. Ovation knows only the kind
// and the id of each.
//
// The ids are those of Ovation's demo data: 20 videos and 100 articles.

import { keyOf, type Subject } from '../api/subject';

export type Topic = 'kitchen' | 'trails' | 'night' | 'workshop' | 'sea' | 'city' | 'garden' | 'sound' | 'print' | 'wheels';

export interface Item {
  readonly biz: string;
  readonly bizId: string;
  readonly title: string;
  readonly topic: Topic;
  readonly minutes: number;
}

// Two videos, then ten articles of each topic.
const titles: Record<Topic, readonly string[]> = {
  kitchen: [
    'Five doughs from one bowl', 'What a dull knife costs you',
    'Salt early, salt late', 'The broth that starts on Sunday', 'A field guide to flour', 'Caramel without a thermometer',
    'Why your rice sticks', 'Pickles in an afternoon', 'One pan, four breakfasts', 'Beans worth soaking',
    'The case for cold butter', 'Bread from yesterday’s bread',
  ],
  trails: [
    'Three days above the tree line', 'Reading a ridge before the weather does',
    'Packing for the second night', 'Boots: a repair diary', 'Maps that fold themselves', 'Crossing water in May',
    'Huts you can reach by train', 'How slow is a good pace', 'Camp coffee, ranked', 'The long way round the lake',
    'Switchbacks, explained', 'Alone on a path, not lost',
  ],
  night: [
    'Perseids on one roll of film', 'Building a star tracker from a door hinge',
    'How dark is your sky?', 'Saturn through a cheap telescope', 'The Moon has seasons too', 'Naming the summer triangle',
    'A winter under red light', 'Satellites, or something else', 'Eclipse: what to do with two minutes', 'Clouds as seen from above',
    'Finding north without a phone', 'The oldest light you can see',
  ],
  workshop: [
    'Ten knots you will use', 'A stool in eleven cuts',
    'Dovetails by eye', 'Glue is not the weak part', 'Sharpening, once and for all', 'The drawer that never sticks',
    'Sawdust is a material', 'Measure never, mark once', 'A bench for a balcony', 'Rescuing a rusted plane',
    'Oil, wax or neither', 'Things clamps are for',
  ],
  sea: [
    'Inside the tide machine', 'Freediving on a single breath',
    'What the foam line tells you', 'Lighthouses that still burn', 'A sail from old banners', 'Mussels, mud and patience',
    'The quiet part of a wave', 'Charts before satellites', 'Rowing out at five', 'Salt, rust and varnish',
    'A harbour in twelve ropes', 'When the fog comes in',
  ],
  city: [
    'Rooftops at rush hour', 'The last hand-painted signs',
    'A square that works', 'Benches, and who they are for', 'Follow the rainwater', 'The bakery at platform nine',
    'Night buses, in order', 'Bridges you never noticed', 'Why this street is loud', 'Twelve doors on one block',
    'Shade is infrastructure', 'The market after closing',
  ],
  garden: [
    'A meadow on three square metres', 'Moss: the long shot',
    'Compost, without the smell', 'Tomatoes that forgive', 'Pruning in the wrong month', 'Seeds worth saving',
    'The shady corner plan', 'Bees at the window', 'Watering less, better', 'Roots before leaves',
    'Herbs that come back', 'Frost, and what survives it',
  ],
  sound: [
    'Recording an empty hall', 'One microphone, whole band',
    'How a bell is tuned', 'The hum in your wall', 'A drum from a drawer', 'Listening to snow',
    'Loops before computers', 'Why choirs drift flat', 'The best seat in the house', 'Tape hiss, a defence',
    'A speaker from plywood', 'Silence between tracks',
  ],
  print: [
    'Two inks, one accident', 'Setting a page by hand',
    'Paper has a direction', 'Why lines break there', 'A zine in one sheet', 'The hole in the letter a',
    'Stitch, staple or fold', 'Proofs we should have kept', 'Colour that is not there', 'Reading in the margins',
    'A typeface for bus stops', 'The smell of fresh ink',
  ],
  wheels: [
    'Across the plain on one gear', 'Truing a wheel by ear',
    'Night trains, morning cities', 'The bike that carries a piano', 'Rails under the asphalt', 'A bell is a conversation',
    'Gravel, in five sizes', 'Chains: clean or new', 'Uphill is a rhythm', 'The slowest race in town',
    'Luggage for two wheels', 'A tram for the whole valley',
  ],
};

const order = Object.keys(titles) as Topic[];

// The feed: a video, then five articles, and so on.
export const feed: readonly Item[] = Array.from({ length: 120 }, (_, place) => {
  const group = Math.floor(place / 6);
  return place % 6 === 0 ? item('video', group) : item('article', group * 5 + (place % 6) - 1);
});

// find returns the item of a subject. Subjects that are not in the catalogue, such as those
// of imported data, get a generic title.
export function find(biz: string, bizId: string): Item {
  return byKey.get(keyOf({ biz, bizId })) ?? {
    biz,
    bizId,
    title: `${biz} ${bizId}`,
    topic: order[hash(biz + bizId) % order.length]!,
    minutes: 5,
  };
}

// isListed reports whether a subject is in the catalogue.
export function isListed(subject: Subject): boolean {
  return byKey.has(keyOf(subject));
}

// hash returns a small number that depends on the text alone.
export function hash(text: string): number {
  let h = 2166136261;
  for (const char of text) h = Math.imul(h ^ char.codePointAt(0)!, 16777619) >>> 0;
  return h;
}

function item(biz: 'video' | 'article', index: number): Item {
  // Each picture is three topics further, so that neighbours differ.
  const topic = order[(biz === 'video' ? index : index * 3 + 1) % order.length]!;
  const row = Math.floor(index / order.length);
  const title = titles[topic][biz === 'video' ? row : row + 2]!;
  const minutes = biz === 'video' ? 4 + (hash(title) % 19) : 3 + (hash(title) % 9);
  return { biz, bizId: String(index + 1), title, topic, minutes };
}

const byKey = new Map(feed.map((entry) => [keyOf(entry), entry]));
