import { Store } from '../api/store';
import { keyOf, type Subject } from '../api/subject';
import type { AddCommentInput, CommentFragment } from '../operations';

// Draft is an unfinished comment. It outlives its drawer, so that closing the drawer
// loses nothing.
export interface Draft {
  readonly text: string;
  readonly replyTo: CommentFragment | null;
  readonly sent?: AddCommentInput; // set if it was sent and not confirmed
  readonly busy: boolean; // whether it is being sent
  readonly problem: string; // of the last attempt to send it
}

const blank: Draft = { text: '', replyTo: null, busy: false, problem: '' };

const all = new WeakMap<object, Map<string, Store<Draft>>>();

// draftOf returns the draft for a subject of the viewer that a client belongs to.
export function draftOf(client: object, subject: Subject): Store<Draft> {
  const drafts = all.get(client) ?? new Map<string, Store<Draft>>();
  all.set(client, drafts);
  const key = keyOf(subject);
  const draft = drafts.get(key) ?? new Store(blank);
  drafts.set(key, draft);
  return draft;
}

// afterSending returns what remains of a draft once the comment sent from it was added:
// the text and the reply that were changed in the meantime.
export function afterSending({ text, replyTo }: Draft, sent: AddCommentInput): Draft {
  if (text.trim() !== sent.text) return { ...blank, text, replyTo };
  return { ...blank, replyTo: replyTo?.id === sent.replyTo ? null : replyTo };
}
