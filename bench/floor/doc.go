// Command floor is what Ovation is measured against: the least that answers the
// two hot requests on the same Redis, RabbitMQ and Postgres with the same
// clients. It knows neither GraphQL nor tokens, and nothing of Ovation's: it has
// keys, a queue and tables of its own, which package bench fills and compares.
//
//	floor serve   POST /page  {"user":…,"ids":[…]}    POST /like  {"user":…,"id":…}
//	floor work    persists what serve has queued
//
// A page reads counts through the client's own cache, three fields of a hash for
// each subject, and the viewer's states by one command, one field for each
// subject; the digits are copied as they come. A like is one script of two keys
// and one message with one confirm. There is no batching, no look before, no
// validation and no recovery: what goes wrong is an error.
//
// Strings in requests have no escapes, which is all that package bench sends.
package main
