import { ovationExchange } from '@ovation/client/urql';
import { formatDocument } from '@urql/core';
import type { Cache, Data, UpdateResolver, Variables } from '@urql/exchange-graphcache';
import { CommentFragmentDoc, type DeleteVideoMutation } from '../operations';
import { arrived, markRead, sent } from './mail';
import { added, changed, deleted, listed } from './threads';

// cache is that of the package, with the lists of comments in it.
export function cache() {
  return ovationExchange({
    // Comments come to lists one by one, see threads.ts, and so do messages, see mail.ts.
    keys: { CommentEdge: keyOfNode, ConversationEdge: keyOfNode, MessageEdge: keyOfNode },
    resolvers: { CommentConnection: { edges: listed } },
    optimistic: {
      editComment,
      markRead,
      deleteComment: ({ input }) => ({ __typename: 'DeleteCommentPayload', deletedId: (input as { id: string }).id, interactive: null }),
    },
    updates: {
      Mutation: { addComment: added, deleteComment: deleted, sendMessage: sent, deleteVideo },
      Subscription: { commentsChanged: changed, messages: arrived },
    },
  });
}

const keyOfNode = (edge: Data) => (edge['node'] as { id: string }).id;

// A video that is deleted leaves every list, which is read again.
const deleteVideo: UpdateResolver = (result, _args, videos) => {
  videos.invalidate({ __typename: 'Video', id: (result as DeleteVideoMutation).deleteVideo.deletedId });
};

// What is read from the cache here is written to it again, so it says its types.
const typedComment = formatDocument(CommentFragmentDoc);

function editComment({ input }: Variables, comments: Cache) {
  const { id, text } = input as { id: string; text: string };
  const comment = comments.readFragment(typedComment, { __typename: 'Comment', id });
  return comment && { __typename: 'EditCommentPayload', comment: { ...comment, text, editedAt: new Date().toISOString() } };
}
