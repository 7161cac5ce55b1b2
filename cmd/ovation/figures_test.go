//go:build long && !race

package main

import (
	"testing"
	"time"
)

// The figures of the long tier: bounds on durations, minus the duration of an empty
// request that is measured alongside. The race detector would distort them.

func TestFigureLikesAreSeenByOthersSoon(t *testing.T) { seenByOthers(t, 2000, 100*time.Millisecond) }

func TestFigureLiveLikesAreSeenSoon(t *testing.T) { liveOnOtherNodes(t, 1000, 150*time.Millisecond) }

func TestFigureMessagesAreSeenSoon(t *testing.T) { messagesOnOtherNodes(t, 1000, 150*time.Millisecond) }

func TestFigureLogOutReachesEveryNodeSoon(t *testing.T) { logOutReaches(t, 20, time.Second) }

func TestFigureLiveLikesReachEverySubscriber(t *testing.T) { liveToAll(t, 1000, 1000, 20*time.Second) }

func TestFigureSubscribersAreCheapAndNotifiedSoon(t *testing.T) {
	cheapSubscribers(t, 10_000, 20, 250*time.Millisecond)
}

func TestFigureCommentsAreRefusedSoonWithoutTheDatabase(t *testing.T) {
	databaseUnavailable(t, 500*time.Millisecond)
}

func TestFigureLikesAreQuickWithoutTheQueue(t *testing.T) { queueUnavailable(t, 500*time.Millisecond) }
