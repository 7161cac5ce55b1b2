// Command floor is the baseline of Ovation's benchmark: a minimal server that answers
// the two hot requests on the same Redis, RabbitMQ and Postgres with the same client
// libraries. It has neither GraphQL nor tokens, and shares no data with Ovation: it has
// separate keys and tables and a separate queue, which package bench fills and compares.
//
//	floor serve   POST /page  {"user":…,"ids":[…]}    POST /like  {"user":…,"id":…}
//	floor work    persists what serve has queued
//
// A page reads counts through client-side caching, three fields of a hash for each
// subject, and the viewer's states with one command, one field for each subject; the
// digits are copied as received. A like is one script of two keys and one message with
// one confirm. There is no batching, no read before the write, no validation and no
// recovery: every failure is an error.
//
// Strings in requests have no escapes, which is all that package bench sends.
package main
