export { connect, type Options, type Socket, type Status } from './connect.js';
export { failuresIn, unconfirmed, type GraphQLFailure } from './failure.js';
export { withFolder, withFollow, withReaction } from './optimistic.js';
export { keepNewest } from './plain.js';
export { keyOf, type Freshness, type Interactive, type Reaction, type Subject } from './subject.js';
export { TokenRejected, type TokenSource } from './token.js';
export { Value, type Watched } from './value.js';
