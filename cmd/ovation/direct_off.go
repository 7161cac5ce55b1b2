//go:build !direct

package main

import (
	"ovation/storage/redis"
	"ovation/worker"
)

// buildTags are the tags that this program was built with.
const buildTags = ""

// directWriter returns nil: reactions are queued.
func directWriter(*redis.Store) worker.DirectWriter { return nil }
