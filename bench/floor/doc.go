// Command floor is the baseline of Ovation's benchmark: a minimal server that answers
// the two most frequent requests on the same Redis, RabbitMQ and Postgres with the same
// client libraries. It has neither GraphQL nor tokens, and shares no data with Ovation:
// it has separate keys and tables and a separate queue, which package bench fills and
// compares.
//
//	floor serve   POST /page  {"user":…,"ids":[…]}    POST /like  {"user":…,"id":…}
//	floor work    persists the likes that serve has queued
//
// A page reads counts through client-side caching, three fields of a hash for each
// subject, and the viewer's states with one command, one field for each subject; the
// digits are copied as received. A like is one script with two keys and one message with
// one confirm. Nothing is batched before the queue, read before the write, validated or
// recovered: every failure is an error.
//
// Strings in requests must not contain escapes; package bench sends none.
//
// This package imports no other package of this module.
package main
