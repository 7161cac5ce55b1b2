//go:build !linux

package main

// sleepLess has nothing to do where there is no timer slack to set.
func sleepLess([]string) {}
