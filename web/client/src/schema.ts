// Written by npm run generate. Do not edit.

// The object types that are identified by their id.
export const nodes = [
  'Collected',
  'Comment',
  'Conversation',
  'Folder',
  'Followed',
  'Interactive',
  'Liked',
  'Message',
  'Read',
  'User',
  'Video',
] as const;

// The object types that are part of another object.
export const embedded = [
  'CollectedConnection',
  'CollectedEdge',
  'CommentConnection',
  'CommentEdge',
  'CommentEvent',
  'ConversationConnection',
  'ConversationEdge',
  'FolderConnection',
  'FolderEdge',
  'FollowedConnection',
  'FollowedEdge',
  'Friend',
  'FriendConnection',
  'FriendEdge',
  'InteractiveConnection',
  'InteractiveEdge',
  'LikedConnection',
  'LikedEdge',
  'MessageConnection',
  'MessageEdge',
  'PageInfo',
  'Profile',
  'ReadConnection',
  'ReadEdge',
  'UserCommentConnection',
  'UserTotals',
  'VideoConnection',
  'VideoEdge',
] as const;
