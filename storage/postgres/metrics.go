package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Collectors returns metrics for the caller to register: the number of connections in the
// pool, their maximum number, the number and the total duration of waits for a
// connection, and the age of the oldest commit in progress.
func (s *Store) Collectors() []prometheus.Collector {
	gauge := func(name, help string, labels prometheus.Labels, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return value(s.pool.Stat()) })
	}
	counter := func(name, help string, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return value(s.pool.Stat()) })
	}
	connections := func(state string, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return gauge("ovation_postgres_connections", "Open connections to Postgres, by state (acquired, idle).",
			prometheus.Labels{"state": state}, value)
	}
	return []prometheus.Collector{
		connections("acquired", func(p *pgxpool.Stat) float64 { return float64(p.AcquiredConns()) }),
		connections("idle", func(p *pgxpool.Stat) float64 { return float64(p.IdleConns()) }),
		gauge("ovation_postgres_max_connections", "How many connections to Postgres this process opens at most.", nil,
			func(p *pgxpool.Stat) float64 { return float64(p.MaxConns()) }),
		counter("ovation_postgres_waits_total", "How often a call found no idle connection to Postgres and waited for one.",
			func(p *pgxpool.Stat) float64 { return float64(p.EmptyAcquireCount()) }),
		counter("ovation_postgres_wait_seconds_total", "How long calls have waited for a connection to Postgres, in all.",
			func(p *pgxpool.Stat) float64 { return p.EmptyAcquireWaitTime().Seconds() }),
		gauge("ovation_postgres_commit_wait_seconds", "How long the oldest commit that PostgreSQL has not answered yet has been waiting; 0 if there is none.", nil,
			func(*pgxpool.Stat) float64 { return s.commits.oldest().Seconds() }),
	}
}
