//go:build !linux

package main

// gatherSleeps has nothing to do where there is no timer slack to set.
func gatherSleeps([]string) {}
