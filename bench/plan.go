package main

import "time"

// runPlan sets how long each part of a run takes. On a machine that is fast enough, a
// full run takes at most 16 minutes, and a quick run at most five. A run that exceeds
// timeout is cancelled.
type runPlan struct {
	name    string
	timeout time.Duration
	rounds  int           // number of rounds of each comparison
	segment time.Duration // how long each variant is measured in a round
	warmUp  time.Duration // how long each variant runs before the first round

	openDuration time.Duration // duration of the load at a fixed rate
	probeRate    float64       // likes a second that are sent to measure the delay until other users see a like

	backlogActions int // actions in the queue when the worker starts
	workerRounds   int // rounds of emptying the queue
	importRounds   int // rounds of an import
	importCopies   int // copies of the data in each import

	watchers int // number of concurrent watchers of one subject
	changes  int // number of changes to the watched subject
}

var (
	fullRunPlan = runPlan{
		name: "full", timeout: 20 * time.Minute, rounds: 5, segment: 3 * time.Second, warmUp: 2 * time.Second,
		openDuration: time.Minute, probeRate: 10, backlogActions: 120_000, workerRounds: 3, importRounds: 3, importCopies: 14, watchers: 10_000, changes: 20,
	}
	quickRunPlan = runPlan{
		name: "quick", timeout: 10 * time.Minute, rounds: 3, segment: 1500 * time.Millisecond, warmUp: 500 * time.Millisecond,
		openDuration: 10 * time.Second, probeRate: 10, backlogActions: 60_000, workerRounds: 1, importRounds: 1, importCopies: 4, watchers: 2_000, changes: 10,
	}
)

// connectionCounts holds the numbers of connections at which Ovation is compared with the
// floor.
var connectionCounts = []int{8, 32, 128}

// The sizes, rates and numbers of connections of the loads.
const (
	pageSize            = 20
	pageCount           = 4096 // number of different pages, which are requested repeatedly
	readerCount         = 8000 // users who only send likes, in addition to the users of the data
	warmUpConnections   = 32
	hotPageConnections  = 32
	openLoopConnections = 256
	openRate            = 2800 // likes a second: ten million an hour
	hotRate             = 1000 // likes a second of one subject
	hotLikeConnections  = 64
	mixedLikeInterval   = 10 // one of this many requests is a like
	actionsPerMessage   = 50 // actions in each message of the backlog
)
