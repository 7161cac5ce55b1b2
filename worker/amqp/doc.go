// Package amqp is the queue in RabbitMQ, for several nodes and workers.
//
// Each partition is a durable quorum queue with one active consumer; what
// cannot be persisted is kept in one more queue. Publish returns storage.Queued
// when the broker has confirmed the message.
package amqp
