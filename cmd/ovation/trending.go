package main

import (
	"context"

	"ovation/storage"
	"ovation/storage/policy"
	"ovation/trends"
)

// trendWeights returns the weights that the configuration gives to interactions, or nil if
// there is none.
func (c siteConfig) trendWeights() func(tenant, biz string) trends.Weights {
	if c.policies == nil {
		return nil
	}
	return func(tenant, biz string) trends.Weights {
		of := c.policies.Get().Of(tenant, biz).Trending
		weight := func(i policy.Interaction) int64 { return int64(of.Weights[i]) }
		weights := trends.Weights{
			Read: weight(policy.Read), Like: weight(policy.Like), Dislike: weight(policy.Dislike),
			Collect: weight(policy.Collect), Follow: weight(policy.Follow), Comment: weight(policy.Comment),
		}
		for i, window := range storage.TrendWindows { // in the order of those of the policy
			if of.Windows.Has(policy.Window(i)) {
				weights.Windows = append(weights.Windows, window)
			}
		}
		return weights
	}
}

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
