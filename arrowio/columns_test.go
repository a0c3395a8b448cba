package arrowio

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
)

// added is a segment of list columns: one value for each of the lengths, cut into batches at the given rows.
func added(t *testing.T, field arrow.Field, lengths []int, cuts ...int) *Columns {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{field}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var records []arrow.Record
	for row, n := range lengths {
		switch v := b.Field(0).(type) {
		case *array.ListBuilder:
			v.Append(true)
			for range n {
				v.ValueBuilder().(*array.Float32Builder).Append(float32(row))
			}
		case *array.Float64Builder:
			v.Append(float64(n))
		}
		if len(cuts) > 0 && cuts[0] == row+1 || row+1 == len(lengths) {
			records = append(records, b.NewRecord())
			cuts = cuts[min(1, len(cuts)):]
		}
	}
	return columnsOf(t, schema, records)
}

func columnsOf(t *testing.T, schema *arrow.Schema, records []arrow.Record) *Columns {
	t.Helper()
	segment, err := NewSegment(schema, records)
	require.NoError(t, err)
	c, err := segment.Columns(0, segment.Rows())
	require.NoError(t, err)
	require.NoError(t, segment.Close()) // what was taken of it outlives it
	t.Cleanup(c.Release)
	return c
}

func generated(t *testing.T) *Columns {
	t.Helper()
	first, second := rollout(good(5, 0, 2, 3), good(5, 1, 2, 1)), rollout(good(5, 2, 2, 4))
	return columnsOf(t, first.Schema(), []arrow.Record{first, second})
}

var (
	values   = arrow.Field{Name: "values", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float32), Metadata: arrow.NewMetadata([]string{DomainKey}, []string{"response"})}
	judgment = arrow.Field{Name: "judgment", Type: arrow.PrimitiveTypes.Float64}
)

func TestS11_18_ColumnSegmentsAreJoinedByRowWithoutCopying(t *testing.T) {
	t.Parallel()
	base, more := generated(t), added(t, values, []int{3, 1, 4}, 1)
	joined, err := base.Join(more)
	require.NoError(t, err)
	defer joined.Release()
	again, err := joined.Join(added(t, judgment, []int{7, 8, 9}))
	require.NoError(t, err)
	defer again.Release()
	require.EqualValues(t, 3, again.Rows())
	require.Len(t, again.records, 3, "cut where either side is")
	column := again.schema.FieldIndices("values")[0]
	require.Equal(t, []float32{2, 2, 2, 2}, again.records[2].Column(column).(*array.List).ListValues().(*array.Float32).Float32Values()[1:])
	list := func(c *Columns, i int) *byte {
		return &c.records[0].Column(i).Data().Children()[0].Buffers()[1].Bytes()[0]
	}
	require.Same(t, list(more, 0), list(again, column), "the same memory")
	groups, err := again.Summarize(SchemaRules{})
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Equal(t, []int32{5, 3, 6}, groups[0].Lengths)
}

func TestS11_18_UnequalRowsAndATakenNameAreRefused(t *testing.T) {
	t.Parallel()
	base := generated(t)
	_, err := base.Join(added(t, judgment, []int{7, 8}))
	require.EqualError(t, err, `outrider: column "judgment": expected 3 rows, as many as the rows that it is joined to, found 2 rows; mend the column before publishing it`)
	taken := judgment
	taken.Name = "reward"
	_, err = base.Join(added(t, taken, []int{7, 8, 9}))
	require.EqualError(t, err, `outrider: column "reward": expected a name that is not taken, found the rows have a column of that name; mend the column before publishing it`)
}

func TestS11_05_ListsOfOneDomainAreComparedAcrossColumnSegments(t *testing.T) {
	t.Parallel()
	joined, err := generated(t).Join(added(t, values, []int{3, 2, 4}))
	require.NoError(t, err)
	defer joined.Release()
	_, err = joined.Summarize(SchemaRules{})
	require.EqualError(t, err, `outrider: row 1, column "values": expected 1 values, as in column "logprobs" of the same domain response, found 2; mend the row before publishing it`)
}

func TestColumnsOfRowsThatAreNotThere(t *testing.T) {
	t.Parallel()
	r := rollout(good(5, 0, 1, 1))
	segment, err := NewSegment(r.Schema(), []arrow.Record{r})
	require.NoError(t, err)
	_, err = segment.Columns(0, 2)
	require.ErrorContains(t, err, "expected at most 1 rows, found rows 0 to 2")
	require.NoError(t, segment.Close())
	_, err = segment.Columns(0, 1)
	require.ErrorIs(t, err, ErrClosed)
}
