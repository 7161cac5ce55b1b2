//go:build !race

package main

const heavier = 1
