//go:build direct

package main

import (
	"ovation/storage/redis"
	"ovation/worker"
)

// buildTags are the tags that this program was built with.
const buildTags = "direct"

// directWriter returns the writer that commits reactions directly.
func directWriter(store *redis.Store) worker.DirectWriter { return store }
