//go:build !linux

package main

// setTimerSlack has nothing to do where there is no timer slack to set.
func setTimerSlack([]string) {}
