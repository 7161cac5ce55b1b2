package importer

import (
	"errors"
	"strings"
)

// undoes holds the action that undoes an action; 0 if nothing does.
var undoes = [actionEnd]action{
	actionLike: actionClear, actionDislike: actionClear, actionClear: actionClear,
	actionCollect: actionUncollect, actionUncollect: actionUncollect,
	actionFollow: actionUnfollow, actionUnfollow: actionUnfollow,
}

var errDeletion = errors.New("is neither a time nor one of 0, 1, f, t, false, true")

// deletion reads the column that marks a row as deleted, for a row with the given time.
// The time of a deletion is that of the row unless the column has one.
func (p *parser) deletion(s string, at int64) (deleted bool, when int64, err error) {
	switch strings.ToLower(s) {
	case "0", "f", "false", "0000-00-00 00:00:00":
		return false, at, nil
	case "1", "t", "true":
		return true, at, nil
	}
	if isNothing(s) {
		return false, at, nil
	}
	when, err = p.times.parse(s)
	switch {
	case err != nil:
		return false, 0, errDeletion
	case p.times.fixed != 0: // rows of one time keep their order
		when = at
	}
	return true, when, nil
}
