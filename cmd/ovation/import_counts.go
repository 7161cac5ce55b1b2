package main

import (
	"fmt"
	"io"

	"ovation/importer"
)

// summarizeCounts prints how the counts of a table compare with the database.
func summarizeCounts(to io.Writer, r importer.Result) {
	for _, c := range r.Compared {
		sayf(to, "%-13s %d in the table, %d in the database: %d rows equal, %d lower, %d higher in the database", c.Count, c.Table, c.Store, c.Equal, c.Lower, c.Higher)
		if c.Count == "read" {
			sayf(to, "; %d reads added", c.Added)
		}
		sayf(to, "\n")
	}
	for _, d := range r.Differences {
		place := fmt.Sprintf("line %d", d.Line)
		if d.Item > 0 {
			place += fmt.Sprintf(", item %d", d.Item)
		}
		sayf(to, "  %s: %s %q: %s is %d in the table, %d in the database\n", place, d.Biz, d.BizID, d.Count, d.Table, d.Store)
	}
	if more := differing(r) - int64(len(r.Differences)); more > 0 {
		sayf(to, "  and %d more\n", more)
	}
}

// differing returns how many counts of states differ between a table and the database.
func differing(r importer.Result) (n int64) {
	for _, c := range r.Compared {
		if c.Count != "read" {
			n += c.Lower + c.Higher
		}
	}
	return n
}

// differ returns an error if counts of states differ, or nil.
func differ(r importer.Result) error {
	if n := differing(r); n > 0 {
		return &exitError{exitBadRows, fmt.Errorf("%d counts of the table differ from the states in the database, which are what counts: import the tables of the states first, and compare again", n)}
	}
	return nil
}
