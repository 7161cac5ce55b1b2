package main

import (
	"context"

	"ovation/worker/trends"
)

// startTrends computes trends until stop is called.
func startTrends(ctx context.Context, options trends.Options) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		trends.New(options).Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}
