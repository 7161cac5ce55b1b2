// The tabs that GraphiQL opens at the first visit. Each shows one use case of a frontend; the
// variables name subjects of the generated demo data.

const json = (value) => JSON.stringify(value, null, 2);
const video = (bizId) => ({ biz: 'video', bizId: String(bizId) });

// newTabQuery is the initial content of a new tab.
export const newTabQuery = '# A new operation. Ctrl-Space completes, Ctrl-Enter runs.\n';

const feed = {
  query: `# A feed page in one request: ten subjects with their
# counts, and what the viewer did with each. Choose anonymous
# above and run it again: liked and collected are null.
query Feed($subjects: [SubjectInput!]!) {
  interactives(subjects: $subjects) {
    biz
    bizId
    readCount
    likeCount
    dislikeCount
    collectCount
    liked {
      reaction
      at
    }
    collected {
      folder {
        name
      }
    }
    freshness
  }
}
`,
  variables: `{
  "subjects": [
${Array.from({ length: 10 }, (_, i) => `    {"biz": "video", "bizId": "${i + 1}"}`).join(',\n')}
  ]
}`,
};

const like = {
  query: `# Like a video, and take it back. Needs a user or token
# above. The button runs the operation at the cursor. Run
# Like twice: the second time changed is false and the
# count stays.
mutation Like($biz: String!, $bizId: ID!) {
  like(input: { biz: $biz, bizId: $bizId }) {
    changed
    durability
    interactive {
      likeCount
      liked {
        reaction
        at
      }
    }
  }
}

mutation Unlike($biz: String!, $bizId: ID!) {
  unlike(input: { biz: $biz, bizId: $bizId }) {
    changed
    durability
    interactive {
      likeCount
      liked {
        reaction
      }
    }
  }
}
`,
  variables: json(video(3)),
};

const collect = {
  query: `# Collect a video into a folder. Needs a user or token
# above. With folderId null it goes to the default folder.
# Run CreateFolder, copy the id from the result into
# folderId below and run Collect again: the video moves.
# {{time}} becomes the time, for names are unique.
mutation Collect($biz: String!, $bizId: ID!, $folderId: ID) {
  collect(input: { biz: $biz, bizId: $bizId, folderId: $folderId }) {
    changed
    interactive {
      collectCount
      collected {
        at
        folder {
          id
          name
          itemCount
        }
      }
    }
  }
}

mutation CreateFolder($name: String!, $description: String!) {
  createFolder(input: { name: $name, description: $description, public: false }) {
    folder {
      id
      name
      public
    }
  }
}

mutation Uncollect($biz: String!, $bizId: ID!) {
  uncollect(input: { biz: $biz, bizId: $bizId }) {
    changed
    interactive {
      collectCount
    }
  }
}
`,
  variables: json({
    name: 'Weekend {{time}}',
    description: 'For two quiet days',
    ...video(5),
    folderId: null,
  }),
};

const folders = {
  query: `# The viewer's folders, newest first, each with its latest
# items. Needs a user or token above.
query MyFolders($folders: Int!, $items: Int!) {
  viewer {
    folders(first: $folders) {
      edges {
        node {
          id
          name
          default
          public
          itemCount
          items(first: $items) {
            edges {
              node {
                at
                interactive {
                  biz
                  bizId
                  collectCount
                }
              }
            }
          }
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
`,
  variables: json({ folders: 10, items: 5 }),
};

const likes = {
  query: `# What the viewer likes, newest first, page by page. Needs
# a user or token above. For the next page, copy endCursor
# from the result into after below.
query MyLikes($first: Int!, $after: String) {
  viewer {
    likes(biz: "video", first: $first, after: $after) {
      edges {
        node {
          reaction
          at
          interactive {
            bizId
            likeCount
            collected {
              folder {
                name
              }
            }
          }
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
`,
  variables: json({ first: 5, after: null }),
};

const follow = {
  query: `# Follow a person, and stop. Needs a user or token above.
# People are the subjects of the kind "user".
mutation Follow($userId: ID!) {
  follow(input: { biz: "user", bizId: $userId }) {
    changed
    interactive {
      followerCount
      followed {
        at
      }
    }
  }
}

mutation Unfollow($userId: ID!) {
  unfollow(input: { biz: "user", bizId: $userId }) {
    changed
    interactive {
      followerCount
    }
  }
}

query Friends($userId: ID!) {
  user(userId: $userId) {
    friends(first: 5) {
      edges {
        node {
          since
          user {
            userId
            interactive {
              followerCount
            }
          }
        }
      }
    }
  }
}
`,
  variables: json({ userId: 'carol' }),
};

const comments = {
  query: `# Comments of a video, the most liked first, each with its
# first replies. For CommentsChanged, copy changesCursor
# from the result into after below; then run AddComment in
# another window. Needs a user or token above to add one.
query Comments($biz: String!, $bizId: ID!) {
  interactive(biz: $biz, bizId: $bizId) {
    commentCount
    comments(order: TOP, first: 5) {
      changesCursor
      edges {
        node {
          id
          text
          at
          author {
            userId
          }
          interactive {
            likeCount
          }
          replyCount
          replies(first: 2) {
            edges {
              node {
                text
              }
            }
          }
        }
      }
    }
  }
}

mutation AddComment($biz: String!, $bizId: ID!, $text: String!) {
  addComment(input: { biz: $biz, bizId: $bizId, text: $text }) {
    comment {
      id
      text
    }
    interactive {
      commentCount
    }
  }
}

subscription CommentsChanged($biz: String!, $bizId: ID!, $after: String) {
  commentsChanged(biz: $biz, bizId: $bizId, after: $after) {
    kind
    cursor
    comment {
      id
      text
      author {
        userId
      }
    }
  }
}
`,
  variables: json({ ...video(1), text: 'Well said at {{time}}.', after: null }),
};

const node = {
  query: `# Everything that has an id can be fetched again by it.
# Run NodeIds, then Refetch: id below is that of the video.
# Put another id of the result in its place.
query NodeIds($biz: String!, $bizId: ID!) {
  interactive(biz: $biz, bizId: $bizId) {
    id
    liked {
      id
    }
    collected {
      id
      folder {
        id
      }
    }
  }
}

query Refetch($id: ID!) {
  node(id: $id) {
    __typename
    id
    ... on Interactive {
      bizId
      likeCount
      version
    }
    ... on Liked {
      reaction
      at
    }
    ... on Collected {
      at
      folder {
        name
      }
    }
    ... on Folder {
      name
      itemCount
    }
  }
}
`,
  variables: json({ ...video(3), id: 'SWRlZmF1bHQAdmlkZW8AMw' }),
};

const viewer = {
  query: `# Who is asking, by the user or token above, and what they
# read last. Null for anonymous viewers.
query Viewer {
  viewer {
    id
    userId
    reads(first: 5) {
      edges {
        node {
          times
          lastAt
          interactive {
            biz
            bizId
            readCount
          }
        }
      }
    }
  }
}
`,
  variables: '',
};

const live = {
  query: `# The counts of two videos, now and whenever they change.
# Press the button again to stop. Run Like in another
# window, for example as bob, and see them move.
subscription Live($subjects: [SubjectInput!]!) {
  interactiveChanged(subjects: $subjects) {
    biz
    bizId
    likeCount
    readCount
    liked {
      reaction
    }
    version
    freshness
  }
}
`,
  variables: json({ subjects: [video(3), video(4)] }),
};

export const presets = [feed, like, collect, folders, likes, follow, comments, node, viewer, live];
