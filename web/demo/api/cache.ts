import { ovationExchange } from '@ovation/client/urql';
import { formatDocument } from '@urql/core';
import type { Cache, Data, UpdateResolver, Variables } from '@urql/exchange-graphcache';
import { CommentFragmentDoc, type DeleteVideoMutation } from '../operations';
import { arrived, markRead, sent } from './mail';
import { added, changed, deleted, listed } from './threads';

// cache returns the package's cache, extended by the lists of comments and messages.
export function cache() {
  return ovationExchange({
    // threads.ts adds comments to lists one by one, and mail.ts messages.
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

// A deleted video disappears from every list, since all of them are refetched.
const deleteVideo: UpdateResolver = (result, _args, videos) => {
  videos.invalidate({ __typename: 'Video', id: (result as DeleteVideoMutation).deleteVideo.deletedId });
};

// What is read from the cache here is written to it again, which requires type names.
const typedComment = formatDocument(CommentFragmentDoc);

function editComment({ input }: Variables, comments: Cache) {
  const { id, text } = input as { id: string; text: string };
  const comment = comments.readFragment(typedComment, { __typename: 'Comment', id });
  return comment && { __typename: 'EditCommentPayload', comment: { ...comment, text, editedAt: new Date().toISOString() } };
}
