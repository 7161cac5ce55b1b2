// A subject, as the API names one.
export interface Subject {
  readonly biz: string;
  readonly bizId: string;
}

// keyOf names a subject in maps and lists.
export function keyOf({ biz, bizId }: Subject): string {
  return `${biz}/${bizId}`;
}
