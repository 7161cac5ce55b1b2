package main

import (
	"bytes"
	"log"
	"testing"
)

func TestOnlyLinesAboutResolversAreDropped(t *testing.T) {
	var out bytes.Buffer
	filter := &resolverFilter{out: &out}
	logger := log.New(filter, "", 0)
	for _, line := range []string{
		"/src/storage/interactive.go:35 adding resolver method for Interactive.author, nothing matched",
		"/src/storage/interactive.go:35 adding resolver method for Interactive.author, method has wrong number of args",
		"nothing matched",
	} {
		logger.Print(line)
	}
	want := "/src/storage/interactive.go:35 adding resolver method for Interactive.author, method has wrong number of args\nnothing matched\n"
	if out.String() != want || filter.dropped != 1 {
		t.Errorf("got %q with %d lines dropped, want %q with 1 dropped", out.String(), filter.dropped, want)
	}
}
