package arrowio

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"
)

// refused wants a stream to be damaged, with these words.
func refused(t *testing.T, b []byte, says string) {
	t.Helper()
	s, err := Decode(memory.NewBufferBytes(b), Bounds{})
	if err == nil {
		s.Release()
	}
	var damaged *DamagedError
	require.ErrorAs(t, err, &damaged)
	require.Contains(t, damaged.Detail, says)
}

// batchWith is a record batch after a schema, its nodes and buffers as given and all its bytes in one piece.
func batchWith(t *testing.T, s *arrow.Schema, rows int64, nodes, buffers [][2]int64, bytesOfBody int) []byte {
	t.Helper()
	w := &encoder{out: &Encoding{}}
	plans, err := w.plans(s.Fields())
	require.NoError(t, err)
	w.message(headerSchema, func(b *flatbuffers.Builder) flatbuffers.UOffsetT { return encodeSchema(b, s, plans) }, nil)
	b := &body{nodes: nodes, buffers: buffers, pieces: [][]byte{make([]byte, bytesOfBody)}, size: int64(bytesOfBody)}
	w.message(headerRecordBatch, func(fb *flatbuffers.Builder) flatbuffers.UOffsetT { return b.encode(fb, rows) }, b)
	return bytes.Join(w.out.pieces, nil)
}

func TestS11_06_CountsThatDoNotFitTheColumns(t *testing.T) {
	t.Parallel()
	p := arrow.PrimitiveTypes
	one := schemaOf(p.Int64)
	type pairs = [][2]int64
	reads := batchWith(t, one, 2, pairs{{2, 0}}, pairs{{0, 0}, {0, 16}}, 64)
	s := decoded(t, reads)
	s.Release()
	refused(t, batchWith(t, one, 2, nil, pairs{{0, 0}, {0, 16}}, 64), "0 field nodes, its columns need more")
	refused(t, batchWith(t, one, 2, pairs{{2, 0}}, pairs{{0, 0}}, 64), "1 buffers, its columns need more")
	refused(t, batchWith(t, one, 2, pairs{{2, 0}, {2, 0}}, pairs{{0, 0}, {0, 16}}, 64), "2 nodes and 2 buffers, the columns need 1 and 2")
	refused(t, batchWith(t, one, 2, pairs{{2, 0}}, pairs{{0, 0}, {0, 16}, {0, 0}}, 64), "1 nodes and 3 buffers, the columns need 1 and 2")

	fixed := schemaOf(arrow.FixedSizeListOf(3, p.Int8))
	refused(t, batchWith(t, fixed, 4, pairs{{4, 0}, {11, 0}}, pairs{{0, 0}, {0, 0}, {0, 11}}, 64), "4 lists of 3 values, there are 11 values")
	structs := schemaOf(arrow.StructOf(arrow.Field{Name: "x", Type: p.Int8}))
	refused(t, batchWith(t, structs, 4, pairs{{4, 0}, {5, 0}}, pairs{{0, 0}, {0, 0}, {0, 5}}, 64), "field 0 of a struct has 5 values, the struct has 4")
	wide := schemaOf(&arrow.FixedSizeBinaryType{ByteWidth: 1<<31 - 1})
	refused(t, batchWith(t, wide, 1<<30, pairs{{1 << 30, 0}}, pairs{{0, 0}, {0, 64}}, 64), "64 bytes for 1073741824 values")
	zero := schemaOf(&arrow.FixedSizeBinaryType{})
	s = decoded(t, batchWith(t, zero, 3, pairs{{3, 0}}, pairs{{0, 0}, {0, 0}}, 0))
	require.Empty(t, s.Records()[0].Column(0).(*array.FixedSizeBinary).Value(2))
	s.Release()
}

// A body of negative length would lead the reader back to where it has been.
func TestS11_06_ABodyDoesNotLeadBack(t *testing.T) {
	t.Parallel()
	b := batchWith(t, schemaOf(), 0, nil, nil, 64)
	a := anatomyOf(t, b)
	binary.LittleEndian.PutUint64(b[a.bodyLength:], uint64(int64(a.frame-a.body)))
	refused(t, b, "a body of -")
}

// A thousand metadata entries may name the same long text.
func TestS11_06_OneTextNamedManyTimesIsNotCopiedManyTimes(t *testing.T) {
	t.Parallel()
	w := &encoder{out: &Encoding{}}
	w.message(headerSchema, func(fb *flatbuffers.Builder) flatbuffers.UOffsetT {
		long := fb.CreateByteString(make([]byte, 1<<20))
		at := make([]flatbuffers.UOffsetT, 1000)
		for i := range at {
			fb.StartObject(2)
			fb.PrependUOffsetTSlot(0, long, 0)
			at[i] = fb.EndObject()
		}
		meta := tables(fb, at)
		fb.StartObject(4)
		fb.PrependUOffsetTSlot(2, meta, 0)
		return fb.EndObject()
	}, nil)
	refused(t, bytes.Join(w.out.pieces, nil), "the texts together are longer")
}

// typeByte returns the position of the first column's type number.
func typeByte(t *testing.T, b []byte) int {
	t.Helper()
	m, err := (&frames{buf: b, lim: Bounds{}.orDefaults()}).next()
	require.NoError(t, err)
	field := m.header.vector(1, 4).table(0)
	return int(m.header.f.base) + field.at(2, 1)
}

func TestS11_06_AMapHasNoNullKeys(t *testing.T) {
	t.Parallel()
	p := arrow.PrimitiveTypes
	pair := arrow.StructOf(arrow.Field{Name: "key", Type: p.Int8, Nullable: true}, arrow.Field{Name: "value", Type: p.Int8, Nullable: true})
	asMap := func(entries string) []byte {
		list := fromJSON(t, arrow.ListOf(pair), entries)
		s := schemaOf(list.DataType())
		rec := recordOf(s, list)
		defer rec.Release()
		b := encoded(t, s, rec)
		b[typeByte(t, b)] = typeMap
		return b
	}
	s := decoded(t, asMap(`[[{"key": 1, "value": null}]]`))
	require.Equal(t, "map<int8,int8>", TypeText(s.Schema().Field(0).Type))
	s.Release()
	refused(t, asMap(`[[{"key": null, "value": 2}]]`), "a map with null entries or null keys")
	refused(t, asMap(`[[null]]`), "a map with null entries or null keys")
	list := fromJSON(t, arrow.ListOf(p.Int8), `[[1]]`)
	scalar := schemaOf(list.DataType())
	rec := recordOf(scalar, list)
	defer rec.Release()
	b := encoded(t, scalar, rec)
	b[typeByte(t, b)] = typeMap
	refused(t, b, "should be a struct of two fields")
	b[typeByte(t, b)] = typeInt
	refused(t, b, "has 1 children, should have 0")
}

func TestS11_06_OneDictionaryIdForTwoTypesIsRefused(t *testing.T) {
	t.Parallel()
	stream := func(a, b arrow.DataType) []byte {
		s := schemaOf(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: a}, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: b})
		w := &encoder{out: &Encoding{}}
		plans, err := w.plans(s.Fields())
		require.NoError(t, err)
		plans[1].id = plans[0].id
		w.message(headerSchema, func(fb *flatbuffers.Builder) flatbuffers.UOffsetT { return encodeSchema(fb, s, plans) }, nil)
		return bytes.Join(w.out.pieces, nil)
	}
	s := decoded(t, stream(arrow.BinaryTypes.String, arrow.BinaryTypes.String))
	s.Release()
	refused(t, stream(arrow.BinaryTypes.String, arrow.BinaryTypes.Binary), "dictionary 0 has values of type utf8 for one field and of type binary for another")
}
