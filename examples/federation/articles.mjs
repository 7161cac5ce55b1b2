// A subgraph with articles. It refers to the likes, reads and comments of an article, and
// to its author, by keys only: Ovation has the objects.
//
//   PORT=4001 node articles.mjs
import { createServer } from 'node:http';
import { createSchema, createYoga } from 'graphql-yoga';

const types = /* GraphQL */ `
  type Query {
    "The latest articles."
    articles(first: Int = 20): [Article!]!
  }
  type Article {
    id: ID!
    title: String!
    "Its counts, and what the viewer did with it. Null if Ovation does not answer."
    interactive: Interactive
    "Null for anonymous viewers if more than the userId is selected, and if Ovation does not answer."
    author: User
  }
`;
const sdl = /* GraphQL */ `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key"])
  ${types}
  type Interactive @key(fields: "biz bizId", resolvable: false) { biz: String! bizId: ID! }
  type User @key(fields: "userId", resolvable: false) { userId: ID! }
`;

const articles = Array.from({ length: 100 }, (_, i) => ({ id: String(i + 1), title: `Article ${i + 1}`, writer: i % 2 ? 'bob' : 'alice' }));

const schema = createSchema({
  typeDefs: `
    ${types}
    type Interactive { biz: String! bizId: ID! }
    type User { userId: ID! }
    type _Service { sdl: String! }
    extend type Query { _service: _Service! }
  `,
  resolvers: {
    Query: {
      articles: (_, { first }) => articles.slice(0, first),
      _service: () => ({ sdl }),
    },
    Article: {
      interactive: ({ id }) => ({ biz: 'article', bizId: id }),
      author: ({ writer }) => ({ userId: writer }),
    },
  },
});

const server = createServer(createYoga({ schema, logging: false }));
server.listen(Number(process.env.PORT ?? 4001), '127.0.0.1', () => {
  console.log(`articles: http://127.0.0.1:${server.address().port}/graphql`);
});
