package main

import (
	"time"

	"ovation/storage"
)

// eventsFlag switches on the log of events in a process that changes data.
type eventsFlag struct {
	Events bool `help:"Log every change as an event; must be the same for all processes." negatable:"" variable:"OVATION_EVENTS"`
}

// eventOptions returns the options of a store.
func (f eventsFlag) eventOptions() storage.EventOptions {
	if !f.Events {
		return storage.EventOptions{}
	}
	return storage.EventOptions{Log: func(string) bool { return true }}
}

// keptEventsFlags are the flags of a process that also prunes events.
type keptEventsFlags struct {
	eventsFlag `embed:""`

	EventsKeep lifetime `default:"168h" help:"How long to keep events." variable:"OVATION_EVENTS_KEEP"`
}

// eventOptions returns the options of a store.
func (f keptEventsFlags) eventOptions() storage.EventOptions {
	options := f.eventsFlag.eventOptions()
	options.Keep = time.Duration(f.EventsKeep)
	return options
}
