package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage"
	"ovation/worker/events"
)

// relays pass events on.
type relays struct {
	log      storage.EventLog
	broker   events.Publisher // nil if there is none
	webhooks []*events.Webhook
	logger   *slog.Logger
	registry prometheus.Registerer
}

// openRelays returns the webhooks as relays.
func (f keptEventsFlags) openRelays(log storage.EventLog, logger *slog.Logger, registry prometheus.Registerer) (*relays, error) {
	webhooks, err := f.openWebhooks(log, logger, registry)
	return &relays{log: log, webhooks: webhooks, logger: logger, registry: registry}, err
}

// start relays events until stop is called.
func (r *relays) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	run := func(options events.ConsumerOptions) {
		options.Log, options.Logger, options.Registry = r.log, r.logger, r.registry
		consumer := events.NewConsumer(options)
		running.Go(func() { consumer.Run(ctx) })
	}
	if r.broker != nil {
		run(events.ConsumerOptions{Name: "rabbitmq", Handler: events.BrokerRelay(r.log, r.broker)})
	}
	for _, w := range r.webhooks {
		run(events.ConsumerOptions{Name: w.Name(), Handler: w, PageSize: events.WebhookPage})
	}
	return func() {
		cancel()
		running.Wait()
		for _, w := range r.webhooks {
			w.Close()
		}
	}
}
