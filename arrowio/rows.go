package arrowio

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// rows views the default columns of one record. Its slices alias the record; nil for a column that is not there.
type rows struct {
	first     int // row of the segment that is the record's first
	group     []int64
	slot      []int32
	response  []int32
	reward    []float64
	status    []uint8
	runs      []int32 // offsets into version and runLength
	version   []int64
	runLength []int32
	masked    []int32 // offsets into mask
	mask      []uint8
	hasTokens bool
	lists     []listColumn
}

// listColumn is a list column that shares its lengths with the others of its domain.
type listColumn struct {
	name    string
	domain  Domain
	offsets []int32 // one more than there are rows
	like    int     // index of the first list of the domain, its own when it is that
}

// count returns the values of row i.
func (c *listColumn) count(i int) int32 { return c.offsets[i+1] - c.offsets[i] }

// rowsOf checks the columns of a record for nulls and returns views of them.
func rowsOf(schema *arrow.Schema, rec arrow.Record, domains lists, first int) (*rows, error) {
	r := &rows{first: first}
	for i, f := range schema.Fields() {
		if row := nullRow(rec.Column(i)); row >= 0 {
			return nil, r.refuse(row, f.Name, "a value at every depth", "null")
		}
		switch c := rec.Column(i).(type) {
		case *array.Int64:
			if f.Name == "group" {
				r.group = c.Int64Values()
			}
		case *array.Int32:
			switch f.Name {
			case "slot":
				r.slot = c.Int32Values()
			case "response_length":
				r.response = c.Int32Values()
			}
		case *array.Float64:
			if f.Name == "reward" {
				r.reward = c.Float64Values()
			}
		case *array.Uint8:
			if f.Name == "status" {
				r.status = c.Uint8Values()
			}
		case *array.List:
			r.list(f.Name, c, domains[i])
		}
	}
	if r.group == nil && rec.NumRows() > 0 || r.slot == nil && rec.NumRows() > 0 {
		return nil, &DataError{Row: -1, Column: "group, slot", Expected: "the columns that identify a row, int64 and int32", Found: "rules without them"}
	}
	if r.runs != nil && r.response == nil && rec.NumRows() > 0 {
		return nil, &DataError{Row: -1, Column: "response_length", Expected: "a column that the lengths of versions add up to", Found: "no such column"}
	}
	if r.response != nil && !r.hasTokens && rec.NumRows() > 0 {
		return nil, &DataError{Row: -1, Column: "tokens", Expected: "a list of domain token, because response_length counts its tail", Found: "no such column"}
	}
	return r, nil
}

// list notes a list column.
func (r *rows) list(name string, c *array.List, domain Domain) {
	offsets := make([]int32, 1)
	if c.Len() > 0 {
		offsets = c.Offsets()[c.Offset() : c.Offset()+c.Len()+1]
	}
	if domain != "" {
		like := slices.IndexFunc(r.lists, func(l listColumn) bool { return l.domain == domain })
		if like < 0 {
			like = len(r.lists)
		}
		r.lists = append(r.lists, listColumn{name: name, domain: domain, offsets: offsets, like: like})
		r.hasTokens = r.hasTokens || domain == DomainToken
	}
	if mask, ok := c.ListValues().(*array.Uint8); ok && name == "loss_mask" {
		r.masked, r.mask = offsets, mask.Uint8Values()
	}
	runs, ok := c.ListValues().(*array.Struct)
	if name != "versions" || !ok || runs.NumField() != 2 {
		return
	}
	version, isVersion := runs.Field(0).(*array.Int64)
	length, isLength := runs.Field(1).(*array.Int32)
	if isVersion && isLength {
		r.runs, r.version, r.runLength = offsets, version.Int64Values(), length.Int32Values()
	}
}

// lengths checks that the lists of each domain have one length in row i and returns that of domain token.
func (r *rows) lengths(i int) (tokens int32, err error) {
	for k := range r.lists {
		c := &r.lists[k]
		n, first := c.count(i), &r.lists[c.like]
		if c.domain == DomainToken {
			tokens = n
		}
		if m := first.count(i); m != n {
			return 0, r.refuse(i, c.name, fmt.Sprintf("%d values, as in column %q of the same domain %s", m, first.name, c.domain), n)
		}
		if c.domain == DomainResponse && r.response != nil && n != r.response[i] {
			return 0, r.refuse(i, c.name, fmt.Sprintf("%d values, the row's response_length", r.response[i]), n)
		}
	}
	return tokens, nil
}

// checkMask refuses what is neither 0 nor 1 in the loss mask of row i.
func (r *rows) checkMask(i int) error {
	if r.masked == nil {
		return nil // no such column, or whoever wrote it has looked
	}
	const most = 0xfefefefefefefefe // of eight values at once: what none of them has unless it is above 1
	for mask := r.mask[r.masked[i]:r.masked[i+1]]; len(mask) > 0; {
		n := min(len(mask), 8)
		if n == 8 && binary.LittleEndian.Uint64(mask)&most == 0 {
			mask = mask[8:]
			continue
		}
		for _, v := range mask[:n] {
			if v > 1 {
				return r.refuse(i, "loss_mask", "0 or 1 for each token", v)
			}
		}
		mask = mask[n:]
	}
	return nil
}

func (r *rows) refuse(row int, column, expected string, found any) error {
	return &DataError{Row: int64(r.first + row), Column: column, Expected: expected, Found: fmt.Sprint(found)}
}
