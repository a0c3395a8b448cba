package arrowio

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Columns are columns of some rows, shared with the segments that they come from: the mappings stay until Release.
type Columns struct {
	schema  *arrow.Schema
	records []arrow.Record
}

// Columns returns rows [first, first+rows) of a segment, shared and not copied; release them. Errors: *DataError, ErrClosed.
func (s *Segment) Columns(first, rows int64) (*Columns, error) {
	root := s.hold()
	if root == nil {
		return nil, fmt.Errorf("%w: take its columns before Close", ErrClosed)
	}
	defer root.Release()
	if first < 0 || rows < 0 || first > s.Rows()-rows {
		return nil, &DataError{Row: first, Column: "all", Expected: fmt.Sprintf("at most %d rows", s.Rows()), Found: fmt.Sprintf("rows %d to %d", first, first+rows)}
	}
	c := &Columns{schema: s.Schema()}
	for _, r := range s.Records() {
		from, to := min(max(first, 0), r.NumRows()), min(max(first+rows, 0), r.NumRows())
		if from < to {
			c.records = append(c.records, r.NewSlice(from, to))
		}
		first -= r.NumRows()
	}
	return c, nil
}

// Rows returns how many there are.
func (c *Columns) Rows() int64 {
	rows := int64(0)
	for _, r := range c.records {
		rows += r.NumRows()
	}
	return rows
}

// Release lets go of the memory. Idempotent.
func (c *Columns) Release() {
	for _, r := range c.records {
		r.Release()
	}
	c.records = nil
}

// Join puts more columns beside the ones that are here, row by row: nothing is copied, both stay whose they are, and the result is
// the caller's to release. Another number of rows and a name that is taken are refused. Error: *DataError.
func (c *Columns) Join(more *Columns) (*Columns, error) {
	if have, found := c.Rows(), more.Rows(); have != found {
		return nil, &DataError{Row: -1, Column: more.name(), Expected: fmt.Sprintf("%d rows, as many as the rows that it is joined to", have), Found: fmt.Sprintf("%d rows", found)}
	}
	for _, f := range more.schema.Fields() {
		if c.schema.HasField(f.Name) {
			return nil, &DataError{Row: -1, Column: f.Name, Expected: "a name that is not taken", Found: "the rows have a column of that name"}
		}
	}
	fields := append(append([]arrow.Field(nil), c.schema.Fields()...), more.schema.Fields()...)
	joined := &Columns{schema: arrow.NewSchema(fields, nil)}
	// Where the two are cut into batches differently, a batch ends wherever one of either does.
	left, right := cut{rest: c.records}, cut{rest: more.records}
	for n := min(left.left(), right.left()); n > 0; n = min(left.left(), right.left()) {
		columns := append(left.take(n), right.take(n)...)
		joined.records = append(joined.records, array.NewRecord(joined.schema, columns, n))
		for _, column := range columns {
			column.Release()
		}
	}
	return joined, nil
}

// Summarize is Summarize of these rows; row 0 is the first of them.
func (c *Columns) Summarize(rule SchemaRules) ([]GroupSummary, error) {
	return SummarizeRecords(c.schema, c.records, rule)
}

// name names the first column, for messages.
func (c *Columns) name() string {
	if c.schema.NumFields() == 0 {
		return "none"
	}
	return c.schema.Field(0).Name
}

// cut walks along records.
type cut struct {
	rest []arrow.Record
	at   int64 // row of the first that comes next
}

// left returns how many rows the present record has left, 0 at the end.
func (c *cut) left() int64 {
	for len(c.rest) > 0 && c.at == c.rest[0].NumRows() {
		c.rest, c.at = c.rest[1:], 0
	}
	if len(c.rest) == 0 {
		return 0
	}
	return c.rest[0].NumRows() - c.at
}

// take returns the columns of the next n rows, at most left(); they are the caller's to release.
func (c *cut) take(n int64) []arrow.Array {
	columns := make([]arrow.Array, c.rest[0].NumCols())
	for i := range columns {
		columns[i] = array.NewSlice(c.rest[0].Column(i), c.at, c.at+n)
	}
	c.at += n
	return columns
}
