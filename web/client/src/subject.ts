// Subject names anything that can be interacted with.
export interface Subject {
  readonly biz: string;
  readonly bizId: string;
}

// keyOf names a subject in maps and lists.
export function keyOf({ biz, bizId }: Subject): string {
  return `${biz}/${bizId}`;
}

export type Reaction = 'LIKE' | 'DISLIKE';

// Freshness is how far counts can be trusted. UNAVAILABLE counts are zeros in
// place of unknown ones: do not display them.
export type Freshness = 'LIVE' | 'STALE' | 'UNAVAILABLE';

// Interactive is a subject as an operation selected it. Everything in this
// package needs `biz`, `bizId` and, to tell the newer of two results, `version`;
// the rest is used where it was selected. Fields must keep their names: an alias
// hides them.
export interface Interactive extends Subject {
  readonly version?: number;
  readonly freshness?: Freshness;
  readonly readCount?: number;
  readonly likeCount?: number;
  readonly dislikeCount?: number;
  readonly collectCount?: number;
  readonly followerCount?: number;
  readonly liked?: { readonly reaction?: Reaction } | null;
  readonly collected?: { readonly folder?: { readonly id?: string } } | null;
  readonly followed?: object | null;
}

// counts are the fields that a version covers.
export const counts = ['readCount', 'likeCount', 'dislikeCount', 'collectCount', 'followerCount'] as const;

// states are what the viewer did with a subject.
export const states = ['liked', 'collected', 'followed'] as const;
