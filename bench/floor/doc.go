// Command floor is the baseline of Ovation's benchmark: a minimal server that answers the
// two most frequent requests. It uses the same Redis, RabbitMQ and Postgres, and the same
// client libraries. It has neither GraphQL nor tokens, and shares no data with Ovation:
// its keys, tables and queue are separate. Package bench fills the keys, creates the
// tables, and checks their contents.
//
//	floor serve   POST /page  {"user":…,"ids":[…]}    POST /like  {"user":…,"id":…}
//	floor work    persists the likes that serve has queued
//
// For a page, the floor reads three fields of a hash for each subject, through
// client-side caching. It reads the viewer's states with one command that names one field
// for each subject. It copies the digits of counts as received. For a like, it runs one
// script with two keys, and publishes one message with one confirm. It does not batch
// likes before it publishes them, sends no read before the script, does not validate, and
// does not recover: every failure is an error.
//
// Strings in requests must not contain escapes; package bench sends none.
//
// This package imports no other package of this module.
package main
