package amqp

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/storage"
)

// messageWithActions makes a message with the given number of actions by different users.
func messageWithActions(id string, actions int) storage.Message {
	m := message(id)
	for i := 1; i < actions; i++ {
		a := m.Actions[0]
		a.User.UserID, a.Subject.BizID, a.Version = "user-"+strconv.Itoa(i), strconv.Itoa(i), a.Version+int64(i)
		m.Actions = append(m.Actions, a)
	}
	return m
}

// BenchmarkPublish measures how many messages and actions are confirmed per second, for
// several limits on the number of unconfirmed messages.
func BenchmarkPublish(b *testing.B) {
	for _, actions := range []int{1, 50, 1000} {
		for _, window := range []int{1, 16, 64, 256, 1000} {
			b.Run(fmt.Sprintf("actions=%d/window=%d", actions, window), func(b *testing.B) {
				opts := options(b)
				opts.Window, opts.Partitions = window, 8
				q := open(b, opts)
				benchmarkPublish(b, q, actions, window)
			})
		}
	}
}

func benchmarkPublish(b *testing.B, q *Queue, actions, callers int) {
	b.Helper()
	m := messageWithActions("bench", actions)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				if _, err := q.Publish(ctx, int(i)%q.Partitions(), m); err != nil {
					b.Error(err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	perSecond := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(perSecond, "messages/s")
	b.ReportMetric(perSecond*float64(actions), "actions/s")
}

// BenchmarkThrough measures how many messages and actions per second pass from Publish to
// Ack.
func BenchmarkThrough(b *testing.B) {
	for _, actions := range []int{1, 50, 1000} {
		b.Run(fmt.Sprintf("actions=%d", actions), func(b *testing.B) {
			opts := options(b)
			opts.Partitions = 8
			q := open(b, opts)
			deliveries := consume(b, q)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range b.N {
					if err := (<-deliveries).Ack(); err != nil {
						b.Error(err)
					}
				}
			}()
			benchmarkPublish(b, q, actions, opts.withDefaults().Window)
			<-done
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			b.ReportMetric(float64(b.N*actions)/b.Elapsed().Seconds(), "actions/s")
		})
	}
}

func BenchmarkCodec(b *testing.B) {
	m := messageWithActions("bench", 1000)
	body := encode(m, time.Now())
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			encode(m, time.Time{})
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := decode(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(len(body))/1000, "B/action")
}
