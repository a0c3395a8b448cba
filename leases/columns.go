package leases

import "fmt"

// Column is one of a user's own; the default columns have their types by the schema rules.
type Column struct{ Name, Type string }

// mostColumns is how many names the columns of a run may have in all.
const mostColumns = 1 << 12

// columns has the type of each column that was in a group's data, and which group was the first with it. The rows of a batch are
// read together, so a name has one type in the groups of a run; a group may be without a column that others have. No state has it:
// a run that goes on from one learns it anew.
type columns map[string]struct {
	kind  string
	first int64
}

// check says what keeps a group's data from being read with that of the groups before it. Error: ErrData.
func (c columns) check(group int64, given []Column) error {
	names := len(c)
	for _, column := range given {
		known, ok := c[column.Name]
		switch {
		case !ok:
			names++
		case known.kind != column.Type:
			return fmt.Errorf("%w: group %d: column %q is %s, in group %d it is %s; write it with one type in every group of a run", ErrData, group, column.Name, column.Type, known.first, known.kind)
		}
	}
	if names > mostColumns {
		return fmt.Errorf("%w: group %d: with its columns the run has columns of %d names, at most %d can be told apart; name what varies in a value", ErrData, group, names, mostColumns)
	}
	return nil
}

// add notes the columns of a group that check has let pass.
func (c columns) add(group int64, given []Column) {
	for _, column := range given {
		if known, ok := c[column.Name]; !ok {
			known.kind, known.first = column.Type, group
			c[column.Name] = known
		}
	}
}
