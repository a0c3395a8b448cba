package arrowio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
)

// anatomy is where the parts of a stream's last record batch lie, as positions in the stream.
type anatomy struct {
	frame, meta, bodyLength, version, rows, nodes, buffers, body int
}

func anatomyOf(t *testing.T, b []byte) anatomy {
	t.Helper()
	f := frames{buf: b, lim: Bounds{}.orDefaults()}
	var a anatomy
	for {
		m, err := f.next()
		require.NoError(t, err)
		if m == nil {
			return a
		}
		if m.kind != headerRecordBatch {
			continue
		}
		h, base := m.header, int(m.header.f.base)
		root := h.f.root()
		a = anatomy{
			frame: int(m.at), meta: base, bodyLength: base + root.at(3, 8), version: base + root.at(0, 2),
			rows: base + h.at(0, 8), nodes: base + h.vector(1, 16).pos, buffers: base + h.vector(2, 16).pos, body: int(m.bodyAt),
		}
	}
}

// victim is a stream of one batch of 6 rows: 0 list<int32> (with validity), 1 utf8, 2 dictionary, 3 map, 4 struct<int8>.
// Nodes: 0 list, 1 items, 2 utf8, 3 dictionary, 4 map, 5 entries, 6 keys, 7 values, 8 struct, 9 field.
// Buffers: 0 validity, 1 offsets, 2 validity, 3 items, 4 validity, 5 offsets, 6 bytes, 7 validity, 8 indices, …
func victim(t *testing.T) []byte {
	t.Helper()
	p := arrow.PrimitiveTypes
	s := schemaOf(arrow.ListOf(p.Int32), arrow.BinaryTypes.String, &arrow.DictionaryType{IndexType: p.Int8, ValueType: arrow.BinaryTypes.String},
		arrow.MapOf(p.Int16, p.Int8), arrow.StructOf(arrow.Field{Name: "x", Type: p.Int8, Nullable: true}))
	g := newGen(4)
	g.plain = true
	cols := []arrow.Array{g.array(s.Field(0).Type, 6, 50)}
	require.NotZero(t, cols[0].NullN())
	for _, f := range s.Fields()[1:] {
		cols = append(cols, g.array(f.Type, 6, 0))
	}
	rec := array.NewRecord(s, cols, 6)
	defer rec.Release()
	for _, c := range cols {
		c.Release()
	}
	return encoded(t, s, rec)
}

func TestS11_06_EachKindOfDamageIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	good := victim(t)
	a := anatomyOf(t, good)
	node := func(i int) int { return a.nodes + 16*i }
	buffer := func(i int) int { return a.buffers + 16*i }
	inBody := func(i int) int { return a.body + int(binary.LittleEndian.Uint64(good[buffer(i):])) }
	u64 := func(at int, x int64) func([]byte) {
		return func(b []byte) { binary.LittleEndian.PutUint64(b[at:], uint64(x)) }
	}
	u32 := func(at int, x int32) func([]byte) {
		return func(b []byte) { binary.LittleEndian.PutUint32(b[at:], uint32(x)) }
	}
	for name, c := range map[string]struct {
		damage func([]byte)
		says   string
	}{
		"metadata length negative":     {u32(a.frame+4, -8), "metadata of -8 bytes"},
		"metadata length past the end": {u32(a.frame+4, int32(len(good))), "metadata of"},
		"metadata length too short":    {u32(a.frame+4, 4), ""},
		"body length negative":         {u64(a.bodyLength, -8), "a body of -8 bytes"},
		"body length huge":             {u64(a.bodyLength, math.MaxInt64), "a body of 9223372036854775807 bytes"},
		"body length zero":             {u64(a.bodyLength, 0), ""},
		"rows negative":                {u64(a.rows, -1), "a batch of -1 rows"},
		"rows one more":                {u64(a.rows, 7), "has 6 rows, its batch 7"},
		"rows one less":                {u64(a.rows, 5), "has 6 rows, its batch 5"},
		"column one row short":         {u64(node(0), 5), ""},
		"column negative":              {u64(node(2), -1), ""},
		"column huge":                  {u64(node(2), math.MaxInt64), "a length of"},
		"items short":                  {u64(node(1), 0), "a length of 0 with"},
		"items huge":                   {u64(node(1), math.MaxInt64/4), "a length of"},
		"struct field short":           {u64(node(9), 5), "of a struct has 5 values"},
		"struct field long":            {u64(node(9), 7), "6 bytes for 7 values"},
		"entries short":                {u64(node(5), 1), ""},
		"nulls without bitmap":         {u64(node(2)+8, 1), "0 bytes of validity"},
		"nulls miscounted":             {u64(node(0)+8, 6), "nulls are counted"},
		"nulls negative":               {u64(node(0)+8, -1), ""},
		"buffer before the body":       {u64(buffer(3), -8), "is (-8,"},
		"buffer after the body":        {u64(buffer(3), 1<<40), "in a body of"},
		"buffer off its boundary":      {u64(buffer(3), 4), "off an 8-byte boundary"},
		"buffer length huge":           {u64(buffer(3)+8, math.MaxInt64), "in a body of"},
		"buffer length negative":       {u64(buffer(3)+8, -8), "in a body of"},
		"empty buffer far away":        {u64(buffer(4), 1<<50), "in a body of"},
		"position and length wrap":     {func(b []byte) { u64(buffer(3), math.MaxInt64-7)(b); u64(buffer(3)+8, math.MaxInt64)(b) }, "in a body of"},
		"struct and field long":        {func(b []byte) { u64(node(9), 5)(b); u64(node(8), 5)(b) }, "has 5 rows, its batch 6"},
		"offsets short":                {u64(buffer(1)+8, 24), "for 7 offsets"},
		"items' bytes short":           {u64(buffer(3)+8, 3), ""},
		"bitmap empty":                 {u64(buffer(0)+8, 0), "0 bytes of validity"},
		"indices short":                {u64(buffer(8)+8, 5), "5 bytes for 6 values"},
		"first offset negative":        {u32(inBody(1), -1), "the first offset is -1"},
		"offset falls":                 {u32(inBody(5)+8, 1<<30), "below the one before"},
		"last offset past the items":   {u32(inBody(1)+24, 1<<30), "the last offset is"},
		"last offset past the text":    {u32(inBody(5)+24, 1<<30), "the last offset is"},
		"index past the dictionary":    {func(b []byte) { b[inBody(8)+2] = 127 }, "outside the dictionary"},
		"index negative":               {func(b []byte) { b[inBody(8)+2] = 0xff }, "outside the dictionary"},
		"node vector too long":         {u32(a.nodes-4, math.MaxInt32), "a vector of"},
		"buffer vector too long":       {u32(a.buffers-4, math.MaxInt32), "a vector of"},
		"node vector too short":        {u32(a.nodes-4, 9), "9 field nodes, its columns need more"},
		"buffer vector too short":      {u32(a.buffers-4, 9), ""},
	} {
		b := slices.Clone(good)
		c.damage(b)
		require.False(t, bytes.Equal(b, good), name)
		_, err := Decode(memory.NewBufferBytes(b), Bounds{})
		var damaged *DamagedError
		require.ErrorAs(t, err, &damaged, name)
		require.GreaterOrEqual(t, damaged.Offset, int64(a.frame), "%s: %v", name, err)
		require.Less(t, damaged.Offset, int64(len(b)), "%s: %v", name, err)
		require.NotEmpty(t, damaged.Part, name)
		require.NotEmpty(t, damaged.Detail, name)
		require.Contains(t, damaged.Detail, c.says, name)
	}
}

func TestS11_06_WhatOverlapsIsRefused(t *testing.T) {
	t.Parallel()
	p := arrow.PrimitiveTypes
	s := schemaOf(p.Int64, p.Int64, p.Int64)
	rec := newGen(1).record(s, 64, 0)
	defer rec.Release()
	b := encoded(t, s, rec)
	a := anatomyOf(t, b)
	for i := range 3 { // each column the whole body
		binary.LittleEndian.PutUint64(b[a.buffers+16*(2*i+1):], 0)
		binary.LittleEndian.PutUint64(b[a.buffers+16*(2*i+1)+8:], 3*64*8)
	}
	_, err := Decode(memory.NewBufferBytes(b), Bounds{})
	require.ErrorContains(t, err, "together longer than the body")
}

// tryAll reads a stream that may be anything and, where it reads, everything in it.
func tryAll(b []byte) error {
	s, err := Decode(memory.NewBufferBytes(b), Bounds{})
	if err != nil {
		return err
	}
	defer s.Release()
	if _, err := ColumnDigests(s.Schema(), s.Records(), 0); err != nil {
		return err
	}
	e, err := Encode(s.Schema(), s.Records())
	if err != nil {
		return err
	}
	e.Release()
	return nil
}

// allocated returns the bytes that f allocates. Not for tests that run beside others.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Not parallel: it counts what it allocates.
func TestS11_06_EveryTruncationAndBitFlipIsAnsweredInBoundedMemory(t *testing.T) { //nolint:paralleltest // counts allocations
	good := victim(t)
	read := 0
	try := func(b []byte) {
		var err error
		n := allocated(func() { err = tryAll(b) })
		require.LessOrEqual(t, n, uint64(256<<10+64*len(good)), "%v", err)
		if err == nil {
			read++
			return
		}
		requireTyped(t, err)
	}
	for cut := range good {
		try(good[:cut])
	}
	require.Equal(t, 3, read, "only cuts after whole messages read: schema, dictionary, batch")
	b := slices.Clone(good)
	for at := range b {
		for bit := range 8 {
			b[at] ^= 1 << bit
			try(b)
			b[at] ^= 1 << bit
		}
		if at%4 != 0 || at+8 > len(b) {
			continue
		}
		kept := binary.LittleEndian.Uint64(b[at:])
		for _, x := range []uint64{0, 1, math.MaxInt32, 1 << 31, math.MaxUint32, math.MaxInt64, 1 << 63, math.MaxUint64, 1 << 61, 4, 64} {
			binary.LittleEndian.PutUint32(b[at:], uint32(x))
			try(b)
			binary.LittleEndian.PutUint64(b[at:], x)
			try(b)
			binary.LittleEndian.PutUint64(b[at:], kept)
		}
	}
	require.Equal(t, good, b)
	require.Greater(t, read, 1000, "flips in values and padding still read")
}

// requireTyped wants a refusal to be of one of the two kinds.
func requireTyped(t *testing.T, err error) {
	t.Helper()
	var damaged *DamagedError
	var unsupported *UnsupportedError
	require.True(t, errors.As(err, &damaged) || errors.As(err, &unsupported), "%T: %v", err, err)
}

// Not parallel: it counts what it allocates.
func TestS11_02_DecodingAllocatesTheSameForAnyNumberOfBytes(t *testing.T) { //nolint:paralleltest // counts allocations
	s := schemaOf(arrow.PrimitiveTypes.Int64, arrow.ListOf(arrow.PrimitiveTypes.Int32))
	cost := func(rows int) (uint64, int) {
		g := newGen(2)
		rec := g.record(s, rows, 10)
		defer rec.Release()
		data := memory.NewBufferBytes(encoded(t, s, rec))
		return allocated(func() {
			stream, err := Decode(data, Bounds{})
			require.NoError(t, err)
			stream.Release()
		}), data.Len()
	}
	cost(10)
	small, few := cost(10)
	large, many := cost(300_000)
	require.Greater(t, many, 1000*few)
	require.LessOrEqual(t, large, small+4096)
}

// Not parallel: it counts what it allocates.
func TestEncodingAllocatesTheSameForAnyNumberOfBytes(t *testing.T) { //nolint:paralleltest // counts allocations
	s := schemaOf(arrow.PrimitiveTypes.Int64, arrow.ListOf(arrow.PrimitiveTypes.Int32))
	cost := func(rows int) uint64 {
		g := newGen(2)
		g.plain = true
		rec := g.record(s, rows, 10)
		defer rec.Release()
		return allocated(func() {
			e, err := Encode(s, []arrow.Record{rec})
			require.NoError(t, err)
			e.Release()
		})
	}
	cost(10)
	require.LessOrEqual(t, cost(300_000), cost(10)+4096)
}
