package main

import (
	"fmt"
	"time"
)

// clockFlag bounds the difference between this machine's clock and the database's.
type clockFlag struct {
	MaxClockSkew pause `default:"10s" help:"Maximum difference between this machine's clock and the database's; beyond it, the node is not ready." env:"OVATION_MAX_CLOCK_SKEW"`
}

// tooFar returns an error if this machine's clock differs from the database's by more
// than MaxClockSkew. ahead is the difference; it is negative if this machine's clock is
// behind. The versions of actions do not depend on this machine's clock, but tokens and
// logs do.
func (f clockFlag) tooFar(ahead time.Duration) error {
	if ahead.Abs() <= time.Duration(f.MaxClockSkew) {
		return nil
	}
	how := "ahead of"
	if ahead < 0 {
		how = "behind"
	}
	return fmt.Errorf("this machine's clock is %v %s the database's, more than --max-clock-skew (%v): set the clock, or run NTP",
		ahead.Abs().Round(time.Millisecond), how, time.Duration(f.MaxClockSkew))
}
