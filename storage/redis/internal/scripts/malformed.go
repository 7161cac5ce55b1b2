package scripts

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/internal/outage"
)

// Malformed counts and logs malformed values in Redis. Such values were edited by hand,
// or written by another program under the same prefix. They are treated as missing and
// replaced from the database. A malformed value affects no other key of the same round
// trip, and does not count as a failure of Redis.
type Malformed struct {
	Total prometheus.Counter
	log   *outage.Log
}

func newMalformed(logger *slog.Logger) *Malformed {
	return &Malformed{
		Total: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ovation_mirror_malformed_values_total",
			Help: "Values in Redis that could not be decoded and were read from the database instead.",
		}),
		log: outage.New(logger, "malformed value in Redis; it is read from the database", "values in Redis are well-formed"),
	}
}

// Record counts and logs a malformed value.
func (m *Malformed) Record(key string, why error) {
	m.Total.Inc()
	m.log.Failed("key", key, "error", why)
}

var errNotHash = errors.New("the key does not hold a hash")

// WrongType reports whether Redis rejected a command because the key does not hold a
// hash.
func WrongType(err error) bool {
	return err != nil && strings.Contains(err.Error(), "WRONGTYPE")
}
