package arrowio

import (
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
)

// sample is one row of a rollout, the plain way.
type sample struct {
	group            int64
	slot             int32
	tokens, response int
	logprobs, mask   int // lengths
	runs             [][2]int64
	reward           float64
	status           uint8
	masked           uint8 // the last value of the mask, when it is not 1
}

// good is a row that keeps all rules.
func good(group int64, slot int32, prompt, response int) sample {
	return sample{
		group: group, slot: slot, tokens: prompt + response, response: response, logprobs: response, mask: response,
		runs: [][2]int64{{3, int64(response)}},
	}
}

// rolloutFields are the default columns that rollout fills.
func rolloutFields() []arrow.Field {
	var fields []arrow.Field
	for _, c := range DefaultRules().Columns[:11] {
		fields = append(fields, arrow.Field{Name: c.Name, Type: c.Type})
	}
	return fields
}

// rollout makes a record of samples.
func rollout(samples ...sample) arrow.Record {
	s := arrow.NewSchema(rolloutFields(), nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for _, x := range samples {
		b.Field(0).(*array.Int64Builder).Append(x.group)
		b.Field(1).(*array.Int32Builder).Append(x.slot)
		b.Field(2).(*array.Int64Builder).Append(int64(x.slot))
		b.Field(3).(*array.Int32Builder).Append(0)
		list := func(i, n int) array.Builder {
			l := b.Field(i).(*array.ListBuilder)
			l.Append(true)
			l.ValueBuilder().Reserve(n)
			return l.ValueBuilder()
		}
		for v, i := list(4, x.tokens), 0; i < x.tokens; i++ {
			v.(*array.Int32Builder).Append(int32(i))
		}
		b.Field(5).(*array.Int32Builder).Append(int32(x.response))
		for v, i := list(6, x.logprobs), 0; i < x.logprobs; i++ {
			v.(*array.Float32Builder).Append(-1)
		}
		for v, i := list(7, x.mask), 0; i < x.mask; i++ {
			v.(*array.Uint8Builder).Append(max(1, x.masked*uint8((i+1)/x.mask)))
		}
		runs := list(8, len(x.runs)).(*array.StructBuilder)
		for _, r := range x.runs {
			runs.Append(true)
			runs.FieldBuilder(0).(*array.Int64Builder).Append(r[0])
			runs.FieldBuilder(1).(*array.Int32Builder).Append(int32(r[1]))
		}
		b.Field(9).(*array.Float64Builder).Append(x.reward)
		b.Field(10).(*array.Uint8Builder).Append(x.status)
	}
	return b.NewRecord()
}

// summarized puts records into a segment and summarizes it.
func summarized(t *testing.T, recs ...arrow.Record) ([]GroupSummary, error) {
	t.Helper()
	seg, err := NewSegment(recs[0].Schema(), recs)
	require.NoError(t, err)
	defer func() { require.NoError(t, seg.Close()) }()
	return Summarize(seg, SchemaRules{})
}

func TestSummaryOfGroups(t *testing.T) {
	t.Parallel()
	a, b, c, d := good(5, 0, 4, 6), good(5, 1, 4, 0), good(9, 0, 1, 3), good(9, 0, 1, 3)
	a.runs, a.reward, a.status = [][2]int64{{7, 2}, {4, 4}, {1, 0}}, 0.5, StatusTruncated
	b.status, c.status = StatusAborted, StatusFailed
	b.runs = nil
	first, second := rollout(a, b, c), rollout(d)
	defer first.Release()
	defer second.Release()
	got, err := summarized(t, first, second)
	require.NoError(t, err)
	require.Equal(t, []GroupSummary{
		{
			Group: 5, Rows: 2, Slots: []int32{0, 1}, Lengths: []int32{10, 4}, Rewards: []float64{0.5, 0}, Aborted: 1, Tokens: 14, ResponseTokens: 6,
			HasVersions: true, MinVersion: 4, MaxVersion: 7, SumVersions: 4,
		},
		{
			Group: 9, FirstRow: 2, Rows: 2, Slots: []int32{0, 0}, Lengths: []int32{4, 4}, Rewards: []float64{0, 0}, Failed: []int32{0}, Tokens: 8, ResponseTokens: 6,
			HasVersions: true, MinVersion: 3, MaxVersion: 3, SumVersions: 6,
		},
	}, got, "a group may go on in the next batch; runs of length 0 say nothing")
}

func TestSummaryNeedsOnlyWhatIdentifiesARow(t *testing.T) {
	t.Parallel()
	whole := rollout(good(2, 0, 1, 1), good(2, 1, 1, 1))
	defer whole.Release()
	s := arrow.NewSchema(rolloutFields()[:4], nil)
	rec := array.NewRecord(s, whole.Columns()[:4], 2)
	defer rec.Release()
	got, err := summarized(t, rec)
	require.NoError(t, err)
	require.Equal(t, []GroupSummary{{Group: 2, Rows: 2, Slots: []int32{0, 1}, Lengths: []int32{0, 0}}}, got)
	empty := rec.NewSlice(0, 0)
	defer empty.Release()
	got, err = summarized(t, empty)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestSumOfVersionsDoesNotWrap(t *testing.T) {
	t.Parallel()
	a, b := good(1, 0, 0, 1), good(1, 1, 0, 1)
	a.runs, b.runs = [][2]int64{{math.MaxInt64, 1}}, [][2]int64{{math.MaxInt64, 1}}
	rec := rollout(a, b)
	defer rec.Release()
	got, err := summarized(t, rec)
	require.NoError(t, err)
	require.Equal(t, int64(math.MaxInt64), got[0].SumVersions)
}

func TestS11_05_RowsThatBreakARuleAreRefusedByRowAndColumn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*sample)
		want   DataError
	}{
		"mask longer than logprobs": {func(s *sample) { s.mask = 4 }, DataError{4, "loss_mask", `3 values, as in column "logprobs" of the same domain response`, "4"}},
		"both longer than response": {func(s *sample) { s.mask, s.logprobs = 4, 4 }, DataError{4, "logprobs", "3 values, the row's response_length", "4"}},
		"response beyond tokens":    {func(s *sample) { s.tokens = 2 }, DataError{4, "response_length", "0 to 2, the row's tokens", "3"}},
		"versions do not add up":    {func(s *sample) { s.runs = [][2]int64{{3, 2}} }, DataError{4, "versions", "lengths that add up to response_length, 3", "2"}},
		"no versions":               {func(s *sample) { s.runs = nil }, DataError{4, "versions", "lengths that add up to response_length, 3", "0"}},
		"negative run":              {func(s *sample) { s.runs = [][2]int64{{3, -1}, {3, 4}} }, DataError{4, "versions", "runs of a version and a length of 0 or more", "version 3, length -1"}},
		"negative version":          {func(s *sample) { s.runs[0][0] = -1 }, DataError{4, "versions", "runs of a version and a length of 0 or more", "version -1, length 3"}},
		"negative slot":             {func(s *sample) { s.slot = -1 }, DataError{4, "slot", "0 or more", "-1"}},
		"mask above 1":              {func(s *sample) { s.masked = 2 }, DataError{4, "loss_mask", "0 or 1 for each token", "2"}},
		"long mask above 1":         {func(s *sample) { *s = good(1, 2, 2, 21); s.masked = 128 }, DataError{4, "loss_mask", "0 or 1 for each token", "128"}},
		"unknown status":            {func(s *sample) { s.status = 4 }, DataError{4, "status", "0 to 3", "4"}},
	} {
		bad := good(1, 2, 2, 3)
		c.change(&bad)
		first, second := rollout(good(1, 0, 2, 3), good(1, 1, 2, 3), good(1, 1, 2, 3)), rollout(good(1, 1, 9, 3), bad)
		_, err := summarized(t, first, second)
		var data *DataError
		require.ErrorAs(t, err, &data, name)
		require.Equal(t, c.want, *data, name)
		first.Release()
		second.Release()
	}
	empty := rollout(good(1, 0, 2, 3), good(1, 1, 2, 0))
	defer empty.Release()
	fields := rolloutFields()
	untold := array.NewRecord(arrow.NewSchema(fields[:len(fields)-1], nil), empty.Columns()[:len(fields)-1], 2)
	defer untold.Release()
	_, err := summarized(t, untold)
	require.ErrorContains(t, err, `row 1, column "status": expected a status, because response_length is 0`)
	negative := good(1, 0, 2, 0)
	negative.runs = nil
	rec := rollout(negative)
	defer rec.Release()
	col := array.NewInt32Data(array.NewData(arrow.PrimitiveTypes.Int32, 1, []*memory.Buffer{nil, memory.NewBufferBytes([]byte{0xff, 0xff, 0xff, 0xff})}, nil, 0, 0))
	changed, err := rec.SetColumn(5, col)
	require.NoError(t, err)
	_, err = summarized(t, changed)
	require.ErrorContains(t, err, `column "logprobs": expected -1 values`)
}

func TestS11_05_AUsersTokenColumnSharesTheLengthOfTokens(t *testing.T) {
	t.Parallel()
	rec := rollout(good(1, 0, 2, 3), good(1, 1, 2, 2))
	defer rec.Release()
	longer := rollout(good(1, 0, 2, 3), good(1, 1, 9, 2))
	defer longer.Release()
	field := func(domain string) arrow.Field {
		f := arrow.Field{Name: "teacher", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}
		if domain != "" {
			f.Metadata = arrow.NewMetadata([]string{DomainKey}, []string{domain})
		}
		return f
	}
	with := func(f arrow.Field, col arrow.Array) error {
		s := arrow.NewSchema(append(rolloutFields(), f), nil)
		r := array.NewRecord(s, append(append([]arrow.Array(nil), rec.Columns()...), col), 2)
		defer r.Release()
		_, err := summarized(t, r)
		return err
	}
	require.NoError(t, with(field("token"), rec.Column(4)))
	require.NoError(t, with(field("free"), longer.Column(4)), "other domains may differ")
	require.NoError(t, with(field(""), longer.Column(4)), "no domain is free")
	var data *DataError
	require.ErrorAs(t, with(field("token"), longer.Column(4)), &data)
	require.Equal(t, DataError{1, "teacher", `4 values, as in column "tokens" of the same domain token`, "11"}, *data)
	require.ErrorContains(t, with(field("tokens"), rec.Column(4)), "expected domain token, response or free, found domain tokens")
	scalar := field("token")
	scalar.Type = arrow.PrimitiveTypes.Int32
	require.ErrorContains(t, with(scalar, rec.Column(1)), "expected a list, because its field declares domain token")
}

func TestColumnsThatBreakARuleAreRefused(t *testing.T) {
	t.Parallel()
	p := arrow.PrimitiveTypes
	g := newGen(3)
	extra := func(name string, typ arrow.DataType, share int) error {
		rec := rollout(good(1, 0, 2, 3), good(1, 1, 2, 2))
		defer rec.Release()
		s := arrow.NewSchema(append(rolloutFields(), arrow.Field{Name: name, Type: typ, Nullable: true}), nil)
		col := g.array(typ, 2, share)
		defer col.Release()
		r := array.NewRecord(s, append(append([]arrow.Array(nil), rec.Columns()...), col), 2)
		defer r.Release()
		_, err := summarized(t, r)
		return err
	}
	require.NoError(t, extra("x", p.Int8, 0))
	require.ErrorContains(t, extra("x", p.Int8, 100), `row 0, column "x": expected a value at every depth, found null`)
	require.ErrorContains(t, extra("x", arrow.Null, 0), `column "x": expected a value at every depth, found null`)
	require.ErrorContains(t, extra("x", arrow.ListOf(arrow.FixedWidthTypes.Boolean), 0), `column "x": expected a mask of uint8, not bool`)
	require.ErrorContains(t, extra("x", arrow.LargeListOf(p.Int8), 0), `expected a list with offsets of 32 bits`)
	require.ErrorContains(t, extra("reward", p.Float64, 0), `column "reward": expected one column of that name, found two`)
	require.ErrorContains(t, extra("text", p.Int8, 0), `column "text": expected type utf8, found type int8`)
	for i, f := range rolloutFields()[:4] {
		fields := rolloutFields()
		fields = append(fields[:i:i], fields[i+1:]...)
		_, err := SummarizeRecords(arrow.NewSchema(fields, nil), nil, SchemaRules{})
		require.ErrorContains(t, err, fmt.Sprintf("column %q: expected a column of type %s, found no such column", f.Name, TypeText(f.Type)))
	}
}

// The first null row of nested arrays, held against looking at every value's text.
func TestNullRowFindsTheFirst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		g := newGen(seed)
		a := g.array(g.typ(3), 1+g.IntN(20), g.IntN(30))
		want := -1
		for i := a.Len() - 1; i >= 0; i-- {
			if holdsNull(a, i) {
				want = i
			}
		}
		require.Equal(t, want, nullRow(a), "seed %d: %v", seed, a)
		a.Release()
	}
}

func holdsNull(a arrow.Array, i int) bool {
	if a.DataType().ID() == arrow.NULL || a.IsNull(i) {
		return true
	}
	switch a := a.(type) {
	case *array.Struct:
		for k := range a.NumField() {
			if holdsNull(a.Field(k), i) {
				return true
			}
		}
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		for k := from; k < to; k++ {
			if holdsNull(a.ListValues(), int(k)) {
				return true
			}
		}
	}
	return false
}
