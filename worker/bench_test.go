package worker_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/storage"
	"ovation/worker"
)

// BenchmarkRecord measures likes by several concurrent callers. Each like is by a
// different user, on one of a thousand subjects, and is on disk when Record returns.
func BenchmarkRecord(b *testing.B) {
	for _, callers := range []int{1, 64, 1000} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			_, queue, mirror := startLocal(b)
			watched := &counter{Publisher: queue}
			r := newRecorder(b, watched, mirror, worker.RecorderOptions{})

			var likes atomic.Int64
			var all sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			start := time.Now()
			for range callers {
				all.Go(func() {
					for i := likes.Add(1); i <= int64(b.N); i = likes.Add(1) {
						subject := video(strconv.FormatInt(i%1000, 10))
						if _, err := r.Record(b.Context(), react(user(int(i)), subject, storage.Like), nil); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "likes/s")
			b.ReportMetric(float64(b.N)/float64(watched.messages.Load()), "likes/message")
		})
	}
}

// counter counts the messages that pass through it.
type counter struct {
	worker.Publisher

	messages atomic.Int64
}

func (c *counter) Publish(ctx context.Context, partition int, m storage.Message) (storage.Durability, error) {
	c.messages.Add(1)
	return c.Publisher.Publish(ctx, partition, m)
}
