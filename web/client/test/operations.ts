// The operations of the tests: those of a typical page that shows subjects.
import { parse } from 'graphql';

const card = `fragment Card on Interactive {
  __typename id biz bizId readCount likeCount dislikeCount collectCount followerCount
  liked { __typename id reaction at }
  collected { __typename id at folder { __typename id name } }
  followed { __typename id at }
  version freshness
}`;

export const feed = parse(`query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { ...Card } } ${card}`);
export const live = parse(`subscription Live($subjects: [SubjectInput!]!) { interactiveChanged(subjects: $subjects) { ...Card } } ${card}`);
export const like = parse(`mutation Like($input: LikeInput!) { like(input: $input) { __typename changed durability interactive { ...Card } } } ${card}`);
export const unlike = parse(`mutation Unlike($input: UnlikeInput!) { unlike(input: $input) { __typename changed durability interactive { ...Card } } } ${card}`);

export const subject = { biz: 'video', bizId: '1' };

export type Reaction = 'LIKE' | 'DISLIKE';

export function cardOf(version: number, likeCount: number, reaction: Reaction | null = null) {
  return {
    __typename: 'Interactive' as const,
    id: 'video 1',
    ...subject,
    readCount: 0,
    likeCount,
    dislikeCount: 0,
    collectCount: 0,
    followerCount: 0,
    liked: reaction && { __typename: 'Liked' as const, id: 'liked', reaction, at: '2026-01-01T00:00:00Z' },
    collected: null,
    followed: null,
    version,
    freshness: 'LIVE' as 'LIVE' | 'STALE' | 'UNAVAILABLE',
  };
}

export type Card = ReturnType<typeof cardOf>;
