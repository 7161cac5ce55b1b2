package loaders_test

import (
	"context"
	"slices"
	"syscall"
	"testing"

	"ovation/loaders"
	"ovation/storage"
)

// cachedResults returns the same interactives for every call, at the cost of a copy.
type cachedResults struct {
	storage.Store

	found []storage.Interactive
}

func (w *cachedResults) Interactives(context.Context, storage.User, []storage.Subject, storage.Kinds) ([]storage.Interactive, error) {
	return slices.Clone(w.found), nil
}

// BenchmarkPage measures the cost of the loaders for a page of 20 subjects. The subjects
// are fetched and then read as a list or one by one. The result includes the cost of
// storage, which here is a single copy of the results. The case "storage" measures the
// copy alone.
func BenchmarkPage(b *testing.B) {
	source := &cachedResults{}
	for i := range 20 {
		source.found = append(source.found, storage.Interactive{Subject: subject(i)})
	}
	measure := func(name string, page func(context.Context, []storage.Subject) error) {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			before := cpuTime(b)
			b.ReportAllocs()
			for b.Loop() {
				keys := make([]storage.Subject, len(source.found)) // each request parses its own keys
				for i := range keys {
					keys[i] = source.found[i].Subject
				}
				if err := page(ctx, keys); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op") // unaffected by other processes
		})
	}
	fetched := func(ctx context.Context, keys []storage.Subject) (context.Context, error) {
		l := loaders.New(source, alice, storage.AllKinds)
		loaders.Interactives.Want(l, keys...)
		return loaders.NewContext(ctx, l.CachedOnly()), l.Fetch(ctx)
	}
	measure("storage", func(ctx context.Context, keys []storage.Subject) error {
		_, err := source.Interactives(ctx, alice, keys, storage.AllKinds)
		return err
	})
	measure("list", func(ctx context.Context, keys []storage.Subject) error {
		ctx, err := fetched(ctx, keys)
		if err == nil {
			_, err = loaders.Interactives.LoadMany(ctx, keys)
		}
		return err
	})
	measure("each", func(ctx context.Context, keys []storage.Subject) error {
		ctx, err := fetched(ctx, keys)
		for _, key := range keys {
			if err == nil {
				_, err = loaders.Interactives.Load(ctx, key)
			}
		}
		return err
	})
}

// cpuTime returns the CPU time that this process has used, in nanoseconds.
func cpuTime(tb testing.TB) int64 {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
