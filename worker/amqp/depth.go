package amqp

import "github.com/rabbitmq/amqp091-go"

// inspect measures the depths of the queues.
func (q *Queue) inspect(b *brokerConn) {
	err := b.withTimeout(func() error {
		channel, err := b.conn.Channel()
		if err != nil {
			return err
		}
		for partition := range q.opts.Partitions {
			n, err := depth(channel, q.opts.queue(partition))
			if err != nil {
				return err
			}
			q.opts.Metrics.depth(partition, n)
		}
		n, err := depth(channel, q.opts.dead())
		if err != nil {
			return err
		}
		q.opts.Metrics.dead.Set(float64(n))
		return channel.Close()
	})
	if err != nil {
		q.opts.Logger.Debug("queues not measured", "error", err)
	}
}

// depth returns the number of messages in a queue that are ready for delivery.
func depth(channel *amqp091.Channel, queue string) (int, error) {
	state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	return state.Messages, err
}
