//go:build !linux

package main

// setTimerSlack does nothing: only Linux has a timer slack.
func setTimerSlack([]string) {}
