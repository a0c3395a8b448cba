package arrowio

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/endian"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"
)

// stockStream is what arrow's own writer makes of a schema and records.
func stockStream(t *testing.T, s *arrow.Schema, recs []arrow.Record, opts ...ipc.Option) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, append(opts, ipc.WithSchema(s))...)
	for _, r := range recs {
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

// crafted is a stream of one message whose header is written by hand, after a schema of one int32 column.
func crafted(kind uint8, header func(*flatbuffers.Builder) flatbuffers.UOffsetT) []byte {
	s := schemaOf(arrow.PrimitiveTypes.Int32)
	w := &encoder{out: &Encoding{}}
	plans, _ := w.plans(s.Fields())
	w.message(headerSchema, func(b *flatbuffers.Builder) flatbuffers.UOffsetT { return encodeSchema(b, s, plans) }, nil)
	w.message(kind, header, &body{})
	return bytes.Join(w.out.pieces, nil)
}

// emptyTable is a header without fields.
func emptyTable(fb *flatbuffers.Builder) flatbuffers.UOffsetT {
	fb.StartObject(1)
	return fb.EndObject()
}

func TestS11_06_WhatIsLeftOutIsRefusedByName(t *testing.T) {
	t.Parallel()
	p := arrow.PrimitiveTypes
	numbers := schemaOf(p.Int32)
	rec := newGen(1).record(numbers, 100, 0)
	defer rec.Release()
	child := []arrow.Field{{Name: "a", Type: p.Int32}}
	words := &arrow.DictionaryType{IndexType: p.Int8, ValueType: arrow.BinaryTypes.String}
	schema := func(types ...arrow.DataType) []byte { return stockStream(t, schemaOf(types...), nil) }
	version := encoded(t, numbers, rec)
	a := anatomyOf(t, version)
	binary.LittleEndian.PutUint16(version[a.version:], 5)

	for feature, b := range map[string][]byte{
		"compression":               stockStream(t, numbers, []arrow.Record{rec}, ipc.WithLZ4()),
		"big endian":                stockStream(t, arrow.NewSchemaWithEndian(numbers.Fields(), nil, endian.BigEndian), nil),
		"union":                     schema(p.Int8, arrow.DenseUnionOf(child, []arrow.UnionTypeCode{0})),
		"run-end encoding":          schema(arrow.RunEndEncodedOf(p.Int32, p.Int8)),
		"utf8 view":                 schema(arrow.BinaryTypes.StringView),
		"binary view":               schema(arrow.StructOf(arrow.Field{Name: "x", Type: arrow.BinaryTypes.BinaryView})),
		"list view":                 schema(arrow.ListViewOf(p.Int8)),
		"large list view":           schema(arrow.LargeListViewOf(p.Int8)),
		"delta dictionary":          deltas(t, words),
		"tensor":                    crafted(headerTensor, emptyTable),
		"file format":               append([]byte("ARROW1\x00\x00"), version...),
		"metadata version":          version,
		"deep nesting":              encoded(t, schemaOf(nested(40))),
		"many columns":              encoded(t, schemaOf(make8193()...)),
		"many rows":                 crafted(headerRecordBatch, rowsOnly(1<<40)),
		"fixed-size list of size 0": fixedSizeZero(),
		"large metadata":            withMetadata(t, 65<<20),
	} {
		_, err := Decode(memory.NewBufferBytes(b), Bounds{})
		var unsupported *UnsupportedError
		require.ErrorAs(t, err, &unsupported, "%s: %v", feature, err)
		require.Equal(t, feature, unsupported.Feature)
	}
}

// deltas is a stream whose second dictionary adds to the first.
func deltas(t *testing.T, typ *arrow.DictionaryType) []byte {
	t.Helper()
	b := array.NewDictionaryBuilder(memory.DefaultAllocator, typ).(*array.BinaryDictionaryBuilder)
	defer b.Release()
	s := schemaOf(typ)
	var recs []arrow.Record
	for _, word := range []string{"a", "b"} {
		require.NoError(t, b.AppendString(word))
		require.NoError(t, b.AppendString("a"))
		col := b.NewArray()
		recs = append(recs, array.NewRecord(s, []arrow.Array{col}, 2))
	}
	// The builder begins each array's dictionary anew; the second must begin as the first does.
	require.NoError(t, b.AppendString("a"))
	require.NoError(t, b.AppendString("b"))
	col := b.NewArray()
	recs[1] = array.NewRecord(s, []arrow.Array{col}, 2)
	return stockStream(t, s, recs, ipc.WithDictionaryDeltas(true))
}

// nested is a list in a list …, so many levels deep.
func nested(depth int) arrow.DataType {
	var t arrow.DataType = arrow.PrimitiveTypes.Int8 //nolint:staticcheck // the interface, not the type of the value
	for range depth {
		t = arrow.ListOf(t)
	}
	return t
}

func make8193() []arrow.DataType {
	types := make([]arrow.DataType, 8193)
	for i := range types {
		types[i] = arrow.Null
	}
	return types
}

// rowsOnly is a record batch of so many rows with one node of as many, and no buffers.
func rowsOnly(n int64) func(*flatbuffers.Builder) flatbuffers.UOffsetT {
	return func(fb *flatbuffers.Builder) flatbuffers.UOffsetT {
		return (&body{nodes: [][2]int64{{n, n}}}).encode(fb, n)
	}
}

// fixedSizeZero is a schema of fixed-size lists of no values, which arrow's own types cannot hold.
func fixedSizeZero() []byte {
	w := &encoder{out: &Encoding{}}
	w.message(headerSchema, func(fb *flatbuffers.Builder) flatbuffers.UOffsetT {
		child := encodeField(fb, arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Int8}, &plan{typ: arrow.PrimitiveTypes.Int8})
		children := tables(fb, []flatbuffers.UOffsetT{child})
		typ := emptyTable(fb)
		fb.StartObject(7)
		fb.PrependByteSlot(2, typeFixedSizeList, 0)
		fb.PrependUOffsetTSlot(3, typ, 0)
		fb.PrependUOffsetTSlot(5, children, 0)
		fields := tables(fb, []flatbuffers.UOffsetT{fb.EndObject()})
		fb.StartObject(4)
		fb.PrependUOffsetTSlot(1, fields, 0)
		return fb.EndObject()
	}, nil)
	return bytes.Join(w.out.pieces, nil)
}

func withMetadata(t *testing.T, n int) []byte {
	t.Helper()
	meta := arrow.NewMetadata([]string{"long"}, []string{string(make([]byte, n))})
	return encoded(t, arrow.NewSchema(schemaOf(arrow.Null).Fields(), &meta))
}

func TestS11_06_MessagesOutOfPlaceAreDamage(t *testing.T) {
	t.Parallel()
	s := schemaOf(arrow.PrimitiveTypes.Int32)
	rec := newGen(1).record(s, 3, 0)
	defer rec.Release()
	good := encoded(t, s, rec)
	batch := anatomyOf(t, good).frame
	for name, b := range map[string][]byte{
		"nothing":                   {},
		"an end marker alone":       {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
		"a batch first":             good[batch:],
		"two schemas":               append(bytes.Clone(good[:batch]), good...),
		"an unknown header":         crafted(77, emptyTable),
		"a batch without anything":  crafted(headerRecordBatch, emptyTable),
		"a dictionary nobody names": crafted(headerDictionaryBatch, emptyTable),
		"a schema as a record batch": crafted(headerRecordBatch, func(fb *flatbuffers.Builder) flatbuffers.UOffsetT {
			return encodeSchema(fb, s, []*plan{{typ: arrow.PrimitiveTypes.Int32}})
		}),
		"half an end marker": good[:len(good)-4],
	} {
		_, err := Decode(memory.NewBufferBytes(b), Bounds{})
		var damaged *DamagedError
		require.ErrorAs(t, err, &damaged, name)
	}
}

func TestBoundsAreKept(t *testing.T) {
	t.Parallel()
	s := schemaOf(arrow.ListOf(arrow.PrimitiveTypes.Int8), arrow.PrimitiveTypes.Int8)
	rec := newGen(1).record(s, 6, 0)
	defer rec.Release()
	b := memory.NewBufferBytes(encoded(t, s, rec, rec))
	for feature, pair := range map[string][2]Bounds{
		"deep nesting": {{Depth: 2}, {Depth: 1}},
		"many columns": {{Fields: 3}, {Fields: 2}},
		"many rows":    {{Rows: 12}, {Rows: 11}},
		"many batches": {{Batches: 2}, {Batches: 1}},
	} {
		stream, err := Decode(b, pair[0])
		require.NoError(t, err, feature)
		stream.Release()
		_, err = Decode(b, pair[1])
		var unsupported *UnsupportedError
		require.ErrorAs(t, err, &unsupported, feature)
		require.Equal(t, feature, unsupported.Feature)
	}
}

func TestEncodeRefusesByNameWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	for _, typ := range []arrow.DataType{
		arrow.SparseUnionOf(nil, nil), arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int8),
		arrow.BinaryTypes.StringView, arrow.ListOf(arrow.BinaryTypes.BinaryView), arrow.ListViewOf(arrow.PrimitiveTypes.Int8),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.StringView},
	} {
		_, err := Encode(schemaOf(typ), nil)
		var unsupported *UnsupportedError
		require.ErrorAs(t, err, &unsupported, "%s", typ)
	}
	s := schemaOf(arrow.PrimitiveTypes.Int8)
	rec := newGen(1).record(s, 1, 0)
	defer rec.Release()
	var data *DataError
	_, err := Encode(schemaOf(arrow.PrimitiveTypes.Int16), []arrow.Record{rec})
	require.ErrorAs(t, err, &data)
	_, err = Encode(schemaOf(), []arrow.Record{rec})
	require.ErrorAs(t, err, &data)
}
