package redis

import (
	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage/redis/internal/dependency"
)

// Collectors measure the store: whether its parts are there, and how far Redis
// is believed. They are for the caller to register.
func (s *Store) Collectors() []prometheus.Collector {
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value)
	}
	up := func(name string, p *dependency.Part) prometheus.Collector {
		return gauge("ovation_part_up", "0 while this process leaves the part alone because it did not answer, else 1; by part (redis, database).",
			prometheus.Labels{"part": name}, func() float64 { return number(p.Healthy()) })
	}
	return []prometheus.Collector{
		up("redis", s.redis),
		up("database", s.database),
		s.scripts.Malformed.Total,
		gauge("ovation_mirror_epoch", "Number of the epoch of the copy in Redis; the next one begins when Redis has lost data or was away.", nil,
			func() float64 { return float64(s.epochs.Current().Number) }),
		gauge("ovation_mirror_open", "1 while Redis is used, 0 while replies come from the database because it is away or may have lost data.", nil,
			func() float64 { return number(s.epochs.Present() != nil) }),
		gauge("ovation_mirror_foreign", "1 while the database belongs to another Redis, or another prefix, than this process's.", nil,
			func() float64 { return number(s.Stranger() != nil) }),
		gauge("ovation_mirror_in_doubt_since_timestamp_seconds", "Since when something may be queued that Redis does not show, so that viewers' answers are STALE; 0 while nothing is.", nil,
			s.epochs.InDoubtSince),
		gauge("ovation_clock_skew_seconds", "How far this machine's clock is ahead of the database's; negative where it is behind.", nil,
			func() float64 { return s.ClockSkew().Seconds() }),
	}
}

// Unshown measures what could not be shown in Redis yet. It is for a process
// that calls Show.
func (s *Store) Unshown() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ovation_mirror_unshown_states",
		Help: "States that the queue has confirmed to this process and Redis could not be told of yet.",
	}, func() float64 { return float64(s.unshown.count()) })
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
