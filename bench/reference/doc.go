// Command reference is what GraphQL is measured against: the HTTP server that
// one would write by hand for the two hot requests, a page and a like, and
// nothing else. It does the same work on the same Redis and the same queue
// with the same clients, reads and writes JSON by hand, and knows no GraphQL.
//
//	POST /page  {"subjects":[{"biz":…,"bizId":…},…]}   at most 100, of one biz
//	POST /like  {"biz":…,"bizId":…}
//
// Replies are those of the same operations of GraphQL, to the byte. Viewers
// bring the same tokens, verified by the same code.
//
// A page reads counts through the client's own cache and then the viewer's
// window by one command, and gives the counts the viewer's own states in place
// of those they include, as package storage/redis does. A like is one message
// with one confirm and then the script show. There is no batching, no look
// before, no database: what Redis does not have is an error, since the benchmark
// measures what is warm.
//
// It knows what lies in Redis and in a message by heart. Where either changes,
// its replies are wrong, the benchmark says so, and this must follow.
package main
