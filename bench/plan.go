package main

import "time"

// plan sets how long each part of a run takes. On a machine that is fast enough, a full
// run takes at most 16 minutes and a quick one five; a run that exceeds limit is ended.
type plan struct {
	name    string
	limit   time.Duration
	rounds  int           // of each comparison
	segment time.Duration // of each side in a round
	warm    time.Duration // before the first round

	open   time.Duration // the load at a fixed rate
	probes float64       // likes a second that measure how soon other users see a like

	backlog int // actions that the worker finds in the queue
	worker  int // rounds of emptying the queue
	imports int // rounds of an import
	copies  int // of the data in each import

	watchers int // of one subject, at the same time
	changes  int // of the watched subject
}

var (
	fullPlan = plan{
		name: "full", limit: 20 * time.Minute, rounds: 5, segment: 3 * time.Second, warm: 2 * time.Second,
		open: time.Minute, probes: 10, backlog: 120_000, worker: 3, imports: 3, copies: 14, watchers: 10_000, changes: 20,
	}
	quickPlan = plan{
		name: "quick", limit: 10 * time.Minute, rounds: 3, segment: 1500 * time.Millisecond, warm: 500 * time.Millisecond,
		open: 10 * time.Second, probes: 10, backlog: 60_000, worker: 1, imports: 1, copies: 4, watchers: 2_000, changes: 10,
	}
)

// clients are the numbers of connections for which each comparison is made.
var clients = []int{8, 32, 128}

// The intensity and the subjects of each load.
const (
	pageSize    = 20
	pages       = 4096 // different pages, which are requested again and again
	readers     = 8000 // users who only like, besides those of the data
	warmClients = 32   // connections
	hotPages    = 32
	openClients = 256
	openRate    = 2800 // likes a second: ten million an hour
	hotRate     = 1000 // likes a second of one subject
	hotClients  = 64
	mixedLikes  = 10 // one request in so many is a like
	messageSize = 50 // actions of each message that the worker finds
)
