package main

import (
	"cmp"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"ovation/importer"
)

// previewRows is the number of rows that --dry-run shows.
const previewRows = 5

// preview prints the first rows as they are understood and what would be imported. It
// writes nothing and opens no database. Its error is that of an import of the file.
func (c *importCommand) preview(p *program, src *importer.Source, mapping importer.Mapping, names map[string]string) error {
	result, rows, err := importer.Preview(p.ctx, src, importer.Options{Mapping: mapping, Tenant: c.Tenant, Strict: c.Strict, FolderNames: names}, previewRows)
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	place := "line"
	if len(rows) > 0 && rows[0].Item > 0 {
		place = "item"
	}
	switch {
	case len(rows) > 0 && len(mapping.Counts) > 0:
		sayf(table, "%s\tbiz\tsubject\tcounts\n", place)
	case len(rows) > 0 && mapping.Folder != "":
		sayf(table, "%s\taction\tuser\tbiz\tsubject\ttime\tfolder\n", place)
	case len(rows) > 0:
		sayf(table, "%s\taction\tuser\tbiz\tsubject\ttime\n", place)
	}
	for _, r := range rows {
		number := cmp.Or(r.Item, r.Line)
		if r.NotAction != "" {
			sayf(table, "%d\t%s\n", number, notAction(r))
			continue
		}
		if r.Counts != "" {
			sayf(table, "%d\t%s\t%s\t%s\n", number, r.Biz, strconv.Quote(r.BizID), r.Counts)
			continue
		}
		folder := ""
		if r.Folder != "" {
			folder = "\t" + strconv.Quote(r.Folder)
		}
		user := "anonymous"
		if r.User != "" {
			user = strconv.Quote(r.User)
		}
		sayf(table, "%d\t%s\t%s\t%s\t%s\t%s%s\n", number, r.Action, user, r.Biz, strconv.Quote(r.BizID), r.At.Format(time.RFC3339Nano), folder)
	}
	_ = table.Flush() // as sayf: what cannot be printed is lost
	summarize(p.stdout, result, mapping.Placeholder, "importable")
	if len(mapping.Counts) > 0 {
		sayf(p.stdout, "dry run: nothing was imported, and no count was compared\n")
	} else {
		sayf(p.stdout, "dry run: nothing was imported; rows that an earlier import wrote are counted, too\n")
	}
	return c.verdict(result, err)
}

// notAction returns why a row is not imported, with its event if it has one.
func notAction(r importer.Understood) string {
	if r.Event == "" {
		return r.NotAction
	}
	return fmt.Sprintf("%s (event %q)", r.NotAction, r.Event)
}
