// Package arrowtest makes segments for the tests of packages that must not import Arrow themselves.
package arrowtest

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"

	"outrider/arrowio"
)

// Table is a sealed source of n prompts: one utf8 column `question`. The caller closes it.
func Table(t testing.TB, n int) *arrowio.Segment {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "question", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("question %d", i))
	}
	return segment(t, schema, b)
}

// Rollouts is a sealed segment with one row for each slot of each group: three tokens, the last of them the response and equal
// to the group. The caller closes it.
func Rollouts(t testing.TB, slots int, groups ...int64) *arrowio.Segment {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "group", Type: arrow.PrimitiveTypes.Int64},
		{Name: "slot", Type: arrow.PrimitiveTypes.Int32},
		{Name: "trajectory", Type: arrow.PrimitiveTypes.Int64},
		{Name: "part", Type: arrow.PrimitiveTypes.Int32},
		{Name: "tokens", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int32)},
		{Name: "response_length", Type: arrow.PrimitiveTypes.Int32},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, group := range groups {
		for slot := range slots {
			b.Field(0).(*array.Int64Builder).Append(group)
			b.Field(1).(*array.Int32Builder).Append(int32(slot))
			b.Field(2).(*array.Int64Builder).Append(int64(slot))
			b.Field(3).(*array.Int32Builder).Append(0)
			list := b.Field(4).(*array.ListBuilder)
			list.Append(true)
			list.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{1, 2, int32(group)}, nil)
			b.Field(5).(*array.Int32Builder).Append(1)
		}
	}
	return segment(t, schema, b)
}

// Groups reads the column `group` of a segment.
func Groups(s *arrowio.Segment) []int64 {
	var all []int64
	for _, rec := range s.Records() {
		all = append(all, rec.Column(rec.Schema().FieldIndices("group")[0]).(*array.Int64).Int64Values()...)
	}
	return all
}

func segment(t testing.TB, schema *arrow.Schema, b *array.RecordBuilder) *arrowio.Segment {
	t.Helper()
	rec := b.NewRecord()
	defer rec.Release()
	s, err := arrowio.NewSegment(schema, []arrow.Record{rec})
	require.NoError(t, err)
	return s
}
