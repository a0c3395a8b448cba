package leases

import "fmt"

// maxRowPrints bounds what a run of a keyed source remembers of its rows: 48 bytes each, about 3 MB in all. Beyond
// it the row that was seen first is forgotten, and the next report of it counts as its first.
const maxRowPrints = 1 << 16

// RowPrint identifies a prompt that a worker made from its index: digests of its columns and of its values.
type RowPrint struct{ Schema, Content [16]byte }

// rowPrints remembers the rows of a keyed source that were seen last. All rows have the columns of the first.
type rowPrints struct {
	schema [16]byte
	byRow  map[int64]RowPrint
	ring   []int64 // rows in the order in which they were seen first
	next   int     // the place in a full ring that is used again
}

// check compares what a worker made of an index with what was made of it before, in this life of the owner.
func (p *rowPrints) check(group, row int64, seen RowPrint) error {
	if seen == (RowPrint{}) {
		return fmt.Errorf("%w: group %d: the report does not say which row %d its worker made; a keyed source needs a digest of it", ErrData, group, row)
	}
	if p.byRow != nil && seen.Schema != p.schema {
		return fmt.Errorf("%w: group %d: row %d has other columns or types than the rows before it (schema %x, theirs is %x); let row(i) return the same for every i, or give keyed(schema=...)", ErrData, group, row, seen.Schema[:4], p.schema[:4])
	}
	before, known := p.byRow[row]
	if known && before != seen {
		return fmt.Errorf("%w: group %d: row %d was made with content %x before, it is %x here; row(i) must give every worker the same", ErrData, group, row, before.Content[:4], seen.Content[:4])
	}
	if known {
		return nil
	}
	if p.byRow == nil {
		p.byRow, p.schema = map[int64]RowPrint{}, seen.Schema
	}
	p.remember(row, seen)
	return nil
}

func (p *rowPrints) remember(row int64, seen RowPrint) {
	p.byRow[row] = seen
	if len(p.ring) < maxRowPrints {
		p.ring = append(p.ring, row)
		return
	}
	delete(p.byRow, p.ring[p.next])
	p.ring[p.next] = row
	p.next = (p.next + 1) % maxRowPrints
}
