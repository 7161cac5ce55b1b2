package postgres

import (
	"strings"
	"unicode/utf8"

	"ovation/storage"
)

// columns holds the arguments of a statement that takes many rows and reads them with
// unnest: one array per column, with the columns of strings first.
type columns struct {
	texts   [][]string
	numbers [][]int64
}

func newColumns(texts, numbers, rows int) columns {
	c := columns{make([][]string, texts), make([][]int64, numbers)}
	for i := range c.texts {
		c.texts[i] = make([]string, 0, rows)
	}
	for i := range c.numbers {
		c.numbers[i] = make([]int64, 0, rows)
	}
	return c
}

// add appends a row. If Postgres cannot store one of the strings, no stored key can
// contain that string. In that case, add replaces all strings of the row with empty ones,
// which are not found either.
func (c columns) add(texts []string, numbers ...int64) {
	fits := true
	for _, s := range texts {
		fits = fits && storable(s)
	}
	for i, s := range texts {
		if !fits {
			s = ""
		}
		c.texts[i] = append(c.texts[i], s)
	}
	for i, n := range numbers {
		c.numbers[i] = append(c.numbers[i], n)
	}
}

func (c columns) args(more ...any) []any {
	out := make([]any, 0, len(c.texts)+len(c.numbers)+len(more))
	for _, column := range c.texts {
		out = append(out, column)
	}
	for _, column := range c.numbers {
		out = append(out, column)
	}
	return append(out, more...)
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func folderKeys(of []storage.FolderKey) columns {
	keys := newColumns(3, 0, len(of))
	for _, k := range of {
		keys.add([]string{k.Owner.Tenant, k.Owner.UserID, k.FolderID})
	}
	return keys
}
