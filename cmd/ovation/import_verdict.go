package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ovation/importer"
)

// verdict returns the error with which the program ends after an import, or nil. r and
// err are the results of the import. The error states what has been imported and what to
// do next.
func (c *importCommand) verdict(r importer.Result, err error) error {
	_, strict := errors.AsType[*importer.RowError](err)
	fault, permanent := errors.AsType[*importer.FileError](err)
	unfit, mismatch := errors.AsType[*importer.MappingError](err)
	const resumes = "the rows imported so far are kept, and the same command resumes from there"
	switch {
	case strict && c.DryRun:
		return &exitError{exitBadRows, fmt.Errorf("stopped at the first bad row, %w", err)}
	case c.DryRun && err != nil && !mismatch && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("import: %w; nothing was imported", err)
	case strict:
		return &exitError{exitBadRows, fmt.Errorf("stopped at the first bad row, %w; the rows before it are imported", err)}
	case errors.Is(err, context.Canceled):
		return errors.New("the import was stopped; " + resumes)
	case mismatch:
		return fmt.Errorf("import: %w; nothing was imported%s", err, suggestFlags(unfit.Suggestions))
	case errors.Is(err, fs.ErrNotExist) && r.Rows == 0:
		return fmt.Errorf("import: there is no file %q", c.File)
	case err != nil && r.Rows == 0:
		return fmt.Errorf("import: %w; nothing was imported", err)
	case permanent && fault.Packed:
		return fmt.Errorf("import: %w; the rows before it are imported, but the last of them may be corrupt: if so, importing an intact copy counts its reads twice. "+
			"Pass compressed files by name instead of piping them: then they are checked before anything is imported", err)
	case permanent:
		return fmt.Errorf("import: %w; the rows before it are imported. Correct the file there without changing anything above, then import it again: the import resumes from there", err)
	case err != nil:
		return fmt.Errorf("import: %w; %s", err, resumes)
	}
	return c.incomplete(r)
}

// incomplete returns an error if rows were bad, or if no row of the file is mapped to an
// action.
func (c *importCommand) incomplete(r importer.Result) error {
	unmapped := slices.ContainsFunc(r.Remedies, func(r importer.Suggestion) bool { return r.Member == "events" })
	switch {
	case len(r.Compared) > 0 && r.Bad == 0:
		return differ(r)
	case len(r.Imported) > 0 || r.Already > 0 || len(r.Compared) > 0 && r.Rows > r.Bad:
		if r.Bad > 0 && c.DryRun {
			return &exitError{exitBadRows, errors.New("an import would skip the bad rows: correct them first")}
		}
		if r.Bad > 0 {
			return &exitError{exitBadRows, errors.New("bad rows were skipped: correct them in a separate file and import it")}
		}
		if r.Unfiled > 0 {
			return &exitError{exitBadRows, errors.New("some items are in default folders, because their users have as many folders as a user may have")}
		}
	case r.Bad > 0:
		return &exitError{exitBadRows, errors.New("no row was imported" + suggestFlags(r.Remedies))}
	case unmapped:
		return &exitError{exitBadRows, errors.New("all rows were skipped: none of their events is mapped to an action" + suggestFlags(r.Remedies))}
	}
	return nil
}

// flagsByMember maps each member of a mapping to the flag that sets it, and to a
// placeholder. suggestFlags prints the placeholder if it cannot suggest a value.
var flagsByMember = map[string][2]string{
	"biz":       {"--biz", "KIND"},
	"bizColumn": {"--biz-column", "COLUMN"},
	"user":      {"--user", "COLUMN"},
	"userId":    {"--user-id", "USER"},
	"subject":   {"--subject", "COLUMN"},
	"all":       {"--all", "ACTION"},
	"event":     {"--event", "COLUMN"},
	"events":    {"--events", "EVENT=ACTION"},
	"time":      {"--time", "COLUMN"},
	"timeUnit":  {"--time-unit", "UNIT"},
	"columns":   {"--columns", "NAME,…"},
	"at":        {"--at", "TIME"},

	"timeFormat": {"--time-format", "FORMAT"},
	"timeZone":   {"--time-zone", "ZONE"},
	"text":       {"--text", "COLUMN"},
	"rows":       {"--rows", "PATH"},
	"deleted":    {"--deleted", "COLUMN"},
	"folder":     {"--folder", "COLUMN"},
	"counts":     {"--counts", "COUNT=COLUMN"},
	"delimiter":  {"--delimiter", "CHARACTER"},
}

// suggestFlags returns the end of an error message that proposes the flags for the given
// remedies, or "" if there are none.
func suggestFlags(remedies []importer.Suggestion) string {
	var flags []string
	var events []string
	for _, r := range remedies {
		flag, known := flagsByMember[r.Member]
		switch {
		case !known:
		case r.Member == "events":
			if strings.HasSuffix(r.Value, "=") {
				r.Value += "ACTION"
			}
			events = append(events, r.Value)
		case r.Value == "":
			flags = append(flags, flag[0]+" "+flag[1])
		default:
			flags = append(flags, flag[0]+" "+shellWord(r.Value))
		}
	}
	if len(events) > 0 {
		flags = append(flags, "--events "+shellWord(strings.Join(events, ",")))
	}
	if len(flags) == 0 {
		return ""
	}
	return "; try " + strings.Join(flags, " ")
}

// shellWord returns s, quoted if necessary, so that a shell reads it as one word.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.,=/:@%+", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
