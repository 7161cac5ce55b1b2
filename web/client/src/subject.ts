// Subject names anything that can be interacted with.
export interface Subject {
  readonly biz: string;
  readonly bizId: string;
}

// keyOf returns the key of a subject in maps and lists.
export function keyOf({ biz, bizId }: Subject): string {
  return `${biz}/${bizId}`;
}

export type Reaction = 'LIKE' | 'DISLIKE';

// Freshness says how far counts can be trusted. UNAVAILABLE and HIDDEN counts are zeros as
// placeholders: do not display them.
export type Freshness = 'LIVE' | 'STALE' | 'UNAVAILABLE' | 'HIDDEN';

// Interactive is a subject as an operation selected it. Everything in this package needs
// `biz`, `bizId` and, to find the newer of two results, `version`; other fields are used
// if they were selected. Fields must keep their names: an alias hides them.
export interface Interactive extends Subject {
  readonly version?: number;
  readonly freshness?: Freshness;
  readonly readCount?: number;
  readonly readerCount?: number;
  readonly likeCount?: number;
  readonly dislikeCount?: number;
  readonly collectCount?: number;
  readonly followerCount?: number;
  readonly liked?: { readonly reaction?: Reaction } | null;
  readonly collected?: { readonly folder?: { readonly id?: string } } | null;
  readonly followed?: object | null;
}

// counts are the fields that are covered by a version.
export const counts = ['readCount', 'readerCount', 'likeCount', 'dislikeCount', 'collectCount', 'followerCount'] as const;

// states are the fields with the viewer's states of a subject.
export const states = ['liked', 'collected', 'followed'] as const;
