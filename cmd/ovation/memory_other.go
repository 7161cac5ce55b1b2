//go:build !linux

package main

func protectMemory() {}
