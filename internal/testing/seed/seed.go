// Package seed chooses the seeds of randomised tests. Only tests import it.
//
// make test always uses the same seed, so that a failure is caused by the change at
// hand. The long tier (make test-long, build tag long) draws a new seed in each run and
// logs it; OVATION_SEED repeats a run in either tier.
package seed

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that sets every seed.
const Variable = "OVATION_SEED"

// fixedSeed is the seed of make test.
const fixedSeed = 1

// Of returns the seed of a test and logs how to repeat the run. It fails the test if the
// environment variable is set to something other than a number.
func Of(tb testing.TB) uint64 {
	tb.Helper()
	n, err := choose()
	if err != nil {
		tb.Fatalf("%s is %q: it must be a whole number from 0 to 2^64-1", Variable, os.Getenv(Variable))
	}
	tb.Logf("%s=%d repeats this run", Variable, n)
	return n
}

// ForRapid sets the seed of pgregory.net/rapid, and the number of cases that rapid checks
// for each property. Without ForRapid, rapid draws a seed in every run. ForRapid returns
// the seed. A package with property tests calls ForRapid when it is initialised; flags
// given to go test take precedence.
func ForRapid() uint64 { return forRapid(30) }

// ForRapidOverServers is like ForRapid, but for properties that call a database or a
// server hundreds of times in each case: make test checks a third as many cases as with
// ForRapid; the long tier checks as many as with ForRapid.
func ForRapidOverServers() uint64 { return forRapid(10) }

func forRapid(checks int) uint64 {
	n, err := choose()
	if err != nil || n == 0 {
		n = fixedSeed // if the seed is 0, rapid draws one
	}
	if drawsSeed {
		checks = 300
	}
	for flagName, value := range map[string]string{"rapid.seed": strconv.FormatUint(n, 10), "rapid.checks": strconv.Itoa(checks)} {
		if err := flag.Set(flagName, value); err != nil {
			panic("seed.ForRapid in a test binary without rapid: " + err.Error())
		}
	}
	return n
}

func choose() (uint64, error) {
	if given := os.Getenv(Variable); given != "" {
		return strconv.ParseUint(given, 10, 64)
	}
	if drawsSeed {
		return rand.Uint64(), nil //nolint:gosec // not a secret
	}
	return fixedSeed, nil
}
