package redis

import (
	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage/redis/internal/dependency"
)

// Collectors returns the metrics of the store, for the caller to register. Among other
// things, they show whether Redis and the database are available, and whether Redis is
// trusted.
func (s *Store) Collectors() []prometheus.Collector {
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value)
	}
	up := func(name string, p *dependency.Backend) prometheus.Collector {
		return gauge("ovation_part_up", "1 while this process calls the part, 0 while its breaker is open; by part (redis, database).",
			prometheus.Labels{"part": name}, func() float64 { return number(p.Healthy()) })
	}
	return []prometheus.Collector{
		up("redis", s.redis),
		up("database", s.database),
		s.scripts.Malformed.Total,
		gauge("ovation_mirror_epoch", "Number of the epoch of the copy in Redis; the next one begins when Redis has lost data or was unavailable.", nil,
			func() float64 { return float64(s.epochs.Current().Number) }),
		gauge("ovation_mirror_open", "1 while Redis is used, also while the database is unavailable; 0 while replies come from the database because Redis is unavailable or may have lost data.", nil,
			func() float64 { return number(s.epochs.Active() != nil) }),
		gauge("ovation_mirror_foreign", "1 while the database uses another Redis, or another prefix, than this process.", nil,
			func() float64 { return number(s.Foreign() != nil) }),
		// This name is unrelated to the actions that package worker calls in doubt.
		gauge("ovation_mirror_in_doubt_since_timestamp_seconds", "Since when Redis may lack queued actions, so that viewers' replies are STALE, as a Unix time; 0 while it lacks none.", nil,
			s.epochs.MayMissWritesSince),
		gauge("ovation_clock_skew_seconds", "How far this machine's clock is ahead of the database's; negative if it is behind.", nil,
			func() float64 { return s.ClockSkew().Seconds() }),
	}
}

// PendingStates returns the metric of the states that could not be written to Redis yet
// (package pending). The metric's name calls these states unshown. Only processes that
// call Apply need to register the metric.
func (s *Store) PendingStates() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ovation_mirror_unshown_states",
		Help: "States that the queue has confirmed to this process and that could not be written to Redis yet. Other nodes lack them until a worker has persisted them.",
	}, func() float64 { return float64(s.pending.Count()) })
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
